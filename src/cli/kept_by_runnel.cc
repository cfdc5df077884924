#include "cli/kept_by_runnel.h"

#include "env/files.h"
#include "home/home.h"
#include "volume/head.h"

namespace runnel::cli {
namespace {

Error keeps(const std::string& path, const std::string& what) {
  return Error(Errc::kConflict, path + " is " + what + ", which would be lost")
      .with_value(path)
      .with_hint("choose another folder, or move that elsewhere first");
}

bool is_home(const std::string& folder) {
  const home::Home home{folder};
  return env::exists(home.version()) && env::exists(home.event_log());
}

Result<void> check_no_volume(const std::string& folder) {
  const std::string head = folder + "/" + std::string(volume::Head::kName);
  const Result<std::string> bytes = env::read_file(head, Bytes::count(volume::Head::kReadMax));
  if (!bytes.ok() || volume::check_no_head(*bytes, head).ok()) return {};
  return keeps(folder, "the place of a volume");
}

}  // namespace

Result<void> check_keeps_nothing(const std::string& path) {
  const Result<env::FileInfo> info = env::file_info(path);
  if (!info.ok() || info->kind != env::FileKind::kDirectory) return {};
  const bool is_store = env::exists(path + "/.runnel/lock") ||
                        (path.ends_with("/.runnel") && env::exists(path + "/lock"));
  if (is_store) return keeps(path, "a store of volumes");
  if (is_home(path)) return keeps(path, "a home of Runnel");
  TRY(check_no_volume(path));
  for (const std::string& name : TRY(env::list_directory(path))) {
    TRY(check_keeps_nothing(path + "/" + name));
  }
  return {};
}

Result<void> check_in_no_volume(const std::string& path) {
  for (std::string folder = path; folder != "/" && !folder.empty();
       folder = env::parent_of(folder)) {
    TRY(check_no_volume(folder));
  }
  return {};
}

}  // namespace runnel::cli
