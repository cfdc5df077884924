#include "store/sqlite/detail/copies.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "env/files.h"

namespace runnel::store::sqlite {
namespace {

constexpr std::string_view kFolderPrefix = "damaged-";
constexpr int kSameSecondMax = 100;  // Copies within one second; more are refused.

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

Time modified(const std::string& path) {
  const Result<env::FileInfo> info = env::file_info(path);
  return info.ok() ? info->modified : Time();
}

// Whether the copy is whole and was made after the last change of the files.
bool is_current(const std::string& path, const std::string& folder) {
  const Time copied = modified(folder + "/" + file_name(path));
  return copied >= std::max(modified(path), modified(path + "-wal")) && copied > Time();
}

}  // namespace

std::string last_copy(const std::string& path) {
  const std::string parent = env::parent_of(path);
  const std::vector<std::string> names =
      env::list_directory(parent).value_or(std::vector<std::string>());
  std::string last;
  for (const std::string& name : names) {
    const bool is_copy =
        name.starts_with(kFolderPrefix) && env::exists(parent + "/" + name + "/" + file_name(path));
    if (is_copy) last = parent + "/" + name;
  }
  return last;
}

Result<std::string> copy_damaged(const std::string& path, Time now, Again again) {
  const std::string last = last_copy(path);
  if (again == Again::kUseTheLast && !last.empty() && is_current(path, last)) return last;
  const std::string folder = TRY(make_folder(path, now));
  for (const char* suffix : {"-wal", ""}) {
    if (!env::exists(path + suffix)) continue;
    TRY(env::copy_file(path + suffix, folder + "/" + file_name(path) + suffix));
  }
  TRY(env::sync_directory(folder));
  TRY(env::sync_directory(env::parent_of(path)));
  return folder;
}

}  // namespace runnel::store::sqlite
