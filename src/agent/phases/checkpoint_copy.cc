#include "agent/phases/checkpoint_copy.h"

#include "agent/place.h"
#include "base/check.h"
#include "env/files.h"
#include "env/obstacle.h"
#include "env/remove_tree.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

constexpr const char* kNoteName = "/.checkpoint-from";

// Describes all that would change if anybody wrote.
void describe(const std::string& folder, const std::string& name, std::string& text) {
  const Result<env::FileInfo> info = env::file_info(folder + name);
  if (!info.ok()) {
    text += name + " gone\n";
    return;
  }
  if (info->kind == env::FileKind::kOther) return;  // A FIFO: none of its content is copied.
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

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Beside the folder, so that it can take its place, under a name that nobody else uses: tasks of
// several jobs may link their checkpoint folders into one.
std::string place_of_copy(const CheckpointCopy& copy, const std::string& target) {
  return env::parent_of(target) + "/.runnel-copy-" + copy.name;
}

Result<void> copy_unchanged(const std::string& from, const std::string& to) {
  const std::string before = description_of(from);
  Result<void> copied = env::copy_tree(from, to);
  if (description_of(from) == before) return copied;
  return Error(Errc::kUnavailable, "the checkpoint in " + from + " changes while it is copied");
}

// Works on the folders that both paths lead to: one may be a link to another disk.
Result<void> replace(const CheckpointCopy& copy, const std::string& from) {
  TRY(env::refuse_obstacle(copy.to));
  TRY(env::make_directories(copy.to));
  const std::string target = TRY(env::real_path(copy.to));
  const std::string copied = place_of_copy(copy, target);
  TRY(env::remove_tree(copied));
  Result<void> made = copy_unchanged(from, copied);
  if (made.ok()) made = env::exchange_files(copied, target);
  Result<void> removed = env::remove_tree(copied);
  return made.ok() ? removed : made;
}

}  // namespace

Result<void> copy_checkpoint(const CheckpointCopy& copy) {
  CHECK(copy.from != copy.to, "a checkpoint is copied onto itself");
  if (is_made(copy)) return {};
  const std::string tasks = env::parent_of(copy.task_folder);
  if (!env::exists(tasks)) return Error(Errc::kNotFound, tasks + " is gone: the job was deleted");
  if (holds_anything(copy.from)) TRY(replace(copy, TRY(env::real_path(copy.from))));
  TRY(env::make_directories(copy.task_folder));
  // Without a temporary that a kill would leave: a note that is missing or torn means another copy,
  // and the attempt has not begun.
  TRY(env::remove_file(copy.task_folder + kNoteName));
  return env::append_file(copy.task_folder + kNoteName, std::to_string(copy.number));
}

Result<void> remove_half_copy(const CheckpointCopy& copy) {
  const Result<env::FileInfo> folder = env::file_info(copy.task_folder);
  const bool holds_nothing = folder.ok() && folder->kind == env::FileKind::kFile;
  if (holds_nothing) return {};
  const Result<std::string> target = env::real_path(copy.to);
  if (target.ok()) return env::remove_tree(place_of_copy(copy, *target));
  if (target.error().code == Errc::kNotFound) return {};
  return target.error();
}

bool CheckpointCopyPhase::is_needed(const model::StartOrder& order) const {
  return order.checkpoint_from.has_value();
}

Workplace CheckpointCopyPhase::workplace(const model::StartOrder& order) const {
  return {output::task_folder(home_, order.attempt.task), Reach::kBelow};
}

CheckpointCopy CheckpointCopyPhase::copy_of(const model::StartOrder& order) const {
  CHECK(is_needed(order), "an attempt that begins with no other's checkpoint copies one");
  const model::CheckpointSource& source = *order.checkpoint_from;
  const std::string own = output::task_folder(home_, order.attempt.task);
  return {output::task_folder(home_, source.task) + "/" + checkpoint_dir(source.dir),
          own + "/" + checkpoint_dir(order.checkpoint ? order.checkpoint->dir : ""), own,
          order.attempt.task.job.str() + "." + base_name(own), source.number};
}

Result<Readiness> CheckpointCopyPhase::prepare(const NodeId&, const model::StartOrder& order,
                                               Readiness so_far, PathTrail& trail) const {
  const CheckpointCopy copy = copy_of(order);
  trail.follow(copy.from);
  TRY(copy_checkpoint(copy));
  return so_far;
}

Result<void> CheckpointCopyPhase::undo(const NodeId&, const model::StartOrder& order,
                                       PathTrail&) const {
  return remove_half_copy(copy_of(order));
}

std::optional<Duration> CheckpointCopyPhase::again(const Error& error, int tries) const {
  const bool may_pass = error.code == Errc::kUnavailable || error.code == Errc::kFull;
  return may_pass && tries < kTriesMax ? std::optional(kAgainAfter) : std::nullopt;
}

}  // namespace runnel::agent
