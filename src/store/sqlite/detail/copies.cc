#include "store/sqlite/detail/copies.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "env/files.h"
#include "env/remove_tree.h"

namespace runnel::store::sqlite {
namespace {

constexpr std::string_view kFolderPrefix = "damaged-";
// The database last: a copy that has it is whole.
constexpr std::array<const char*, 3> kSuffixes{"-head", "-wal", ""};
constexpr std::size_t kCopiesMax = 20;  // That failing openings make.
constexpr int kSameSecondMax = 100;     // Copies within one second; more are refused.

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "damaged-20261121T140528Z": sorts by time and is easy to type.
std::string folder_name(Time now) {
  std::string name(kFolderPrefix);
  for (const char c : rfc3339(now).substr(0, 19)) {
    if (c != '-' && c != ':') name += c;
  }
  return name + "Z";
}

Result<std::string> make_folder(const std::string& path, Time now) {
  const std::string base = env::parent_of(path) + "/" + folder_name(now);
  for (int i = 1; i <= kSameSecondMax; ++i) {
    const std::string folder = i == 1 ? base : base + "-" + std::to_string(i);
    if (env::exists(folder)) continue;
    TRY(env::make_directories(folder, env::Access::kOwner));
    return folder;
  }
  return Error(Errc::kFull, "there are " + std::to_string(kSameSecondMax) + " copies like " + base);
}

// Neither has the file, or the copy has as much of it and is no older.
bool is_current(const std::string& file, const std::string& copy) {
  const Result<env::FileInfo> here = env::file_info(file);
  const Result<env::FileInfo> there = env::file_info(copy);
  if (!here.ok() || !there.ok()) return here.ok() == there.ok();
  return here->size == there->size && there->modified >= here->modified;
}

bool holds_all(const std::string& path, const std::string& folder) {
  const std::string copy = folder + "/" + file_name(path);
  return std::all_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](const char* suffix) { return is_current(path + suffix, copy + suffix); });
}

bool is_copy(const std::string& path, const std::string& folder) {
  return std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](const char* suffix) {
    return env::exists(folder + "/" + file_name(path) + suffix);
  });
}

std::vector<std::string> copies_of(const std::string& path) {
  const std::string parent = env::parent_of(path);
  std::vector<std::string> copies;
  for (const std::string& name : env::list_directory(parent).value_or(std::vector<std::string>())) {
    const std::string folder = parent + "/" + name;
    if (name.starts_with(kFolderPrefix) && is_copy(path, folder)) copies.push_back(folder);
  }
  return copies;
}

Result<void> copy_files(const std::string& path, const std::string& folder) {
  for (const char* suffix : kSuffixes) {
    if (!env::exists(path + suffix)) continue;
    TRY(env::copy_file(path + suffix, folder + "/" + file_name(path) + suffix));
  }
  TRY(env::sync_directory(folder));
  return env::sync_directory(env::parent_of(path));
}

}  // namespace

std::string last_copy(const std::string& path) {
  const std::vector<std::string> copies = copies_of(path);
  return copies.empty() ? std::string() : copies.back();
}

Result<std::string> copy_damaged(const std::string& path, Time now, Again again) {
  const std::vector<std::string> copies = copies_of(path);
  if (again == Again::kUseTheLast) {
    for (const std::string& copy : copies) {
      if (holds_all(path, copy)) return copy;
    }
    if (copies.size() >= kCopiesMax) {
      return Error(Errc::kFull, "there are " + std::to_string(copies.size()) +
                                    " copies of damaged logs already, the last one " +
                                    copies.back());
    }
  }
  const std::string folder = TRY(make_folder(path, now));
  const Result<void> copied = copy_files(path, folder);
  if (copied.ok()) return folder;
  CHECK(file_name(folder).starts_with(kFolderPrefix), "what is no copy of a log is removed");
  (void)env::remove_tree(folder);  // A part of a copy would pass for one.
  if (copied.error().code != Errc::kFull) return copied.error();
  Error full = copied.error();
  return full.with_hint("free as much on that disk as " + path + "* takes: a copy is kept of it");
}

}  // namespace runnel::store::sqlite
