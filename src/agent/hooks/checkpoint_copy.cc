#include "agent/hooks/checkpoint_copy.h"

#include <vector>

#include "base/check.h"
#include "env/files.h"

namespace runnel::agent {
namespace {

constexpr const char* kNoteName = "/.checkpoint-from";
constexpr const char* kCopySuffix = ".copied";

// What would change if anybody wrote.
void describe(const std::string& folder, const std::string& name, std::string& text) {
  const Result<env::FileInfo> info = env::file_info(folder + name);
  if (!info.ok()) {
    text += name + " gone\n";
    return;
  }
  text += name + ' ' + std::to_string(info->size.count()) + ' ' +
          std::to_string(info->modified.millis()) + '\n';
  if (info->kind != env::FileKind::kDirectory) return;
  const auto names = env::list_directory(folder + name);
  if (!names.ok()) return;
  for (const std::string& each : *names) describe(folder, name + "/" + each, text);
}

std::string description_of(const std::string& folder) {
  std::string text;
  describe(folder, "", text);
  return text;
}

bool holds_anything(const std::string& folder) {
  const auto names = env::list_directory(folder);
  return names.ok() && !names->empty();
}

bool is_made(const CheckpointCopy& copy) {
  const Result<std::string> note = env::read_file(copy.task_folder + kNoteName);
  return note.ok() && *note == std::to_string(copy.number);
}

// Of both by what the path names: a checkpoint folder may be a link to another disk.
Result<void> replace(const std::string& from, const std::string& to) {
  TRY(env::make_directories(to));
  const std::string target = TRY(env::real_path(to));
  const std::string copied = target + kCopySuffix;
  TRY(env::remove_tree(copied));
  const std::string before = description_of(from);
  TRY(env::copy_tree(from, copied));
  if (description_of(from) != before) {
    return Error(Errc::kUnavailable, "the checkpoint in " + from + " changes while it is copied");
  }
  TRY(env::exchange_files(copied, target));
  return env::remove_tree(copied);
}

}  // namespace

Result<void> copy_checkpoint(const CheckpointCopy& copy) {
  CHECK(copy.from != copy.to, "a checkpoint is copied onto itself");
  if (is_made(copy)) return {};
  if (holds_anything(copy.from)) TRY(replace(TRY(env::real_path(copy.from)), copy.to));
  TRY(env::make_directories(copy.task_folder));
  return env::write_file_atomically(copy.task_folder + kNoteName, std::to_string(copy.number));
}

}  // namespace runnel::agent
