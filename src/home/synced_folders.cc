#include "home/synced_folders.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "json/read.h"
#include "model/fields.h"

namespace runnel::home {

// One that is remembered by its name and its volume's, as it once was, says no inode.
struct SyncedFolder {
  std::string folder;
  std::string volume;  // Its uuid.
  std::string path;
  std::int64_t device = 0;
  std::int64_t inode = 0;
  std::int64_t born = 0;  // env::birth_time().
  friend bool operator==(const SyncedFolder&, const SyncedFolder&) = default;
};

struct SyncedList {
  std::vector<SyncedFolder> folders;  // The oldest first.
};

}  // namespace runnel::home

namespace runnel::model {

template <>
struct Fields<home::SyncedFolder> {
  static void visit(auto& visit, auto& synced) {
    visit("born", synced.born);
    visit("device", synced.device);
    visit("folder", synced.folder, Required());
    visit("inode", synced.inode);
    visit("path", synced.path);
    visit("volume", synced.volume, Required());
  }
};

template <>
struct Fields<home::SyncedList> {
  static void visit(auto& visit, auto& list) { visit("folders", list.folders); }
};

}  // namespace runnel::model

namespace runnel::home {
namespace {

constexpr Duration kSyncedLockWait = Duration::seconds(4);

Result<SyncedList> read_synced(const Home& home) {
  const Result<std::string> text = env::read_file(home.synced_file(), Bytes::mebi(16));
  if (!text.ok() && text.error().code == Errc::kNotFound) return SyncedList();
  const Result<json::Value> json = json::parse(TRY(Result<std::string>(text)));
  Result<SyncedList> list =
      json.ok() ? model::read_record<SyncedList>(*json) : Result<SyncedList>(json.error());
  if (list.ok()) return list;
  return Error(Errc::kCorrupt, home.synced_file() + " is damaged: " + list.error().to_string())
      .with_value(home.synced_file())
      .with_hint("remove it; sync then asks again before it removes files");
}

// As it is now.
Result<SyncedFolder> synced_now(const std::string& folder, const SyncSource& source) {
  CHECK(folder.starts_with('/'), "a folder is remembered by its absolute path");
  const env::FileId id = TRY(env::file_id(folder));
  const std::int64_t born = TRY(env::birth_time(folder));
  return SyncedFolder{folder, source.uuid, source.path, id.device, id.inode, born};
}

}  // namespace

Result<bool> was_synced(const Home& home, const std::string& folder, const SyncSource& source) {
  const SyncedFolder synced = TRY(synced_now(folder, source));
  const SyncedList list = TRY(read_synced(home));
  return std::find(list.folders.begin(), list.folders.end(), synced) != list.folders.end();
}

Result<void> remember_synced(const Home& home, const std::string& folder,
                             const SyncSource& source) {
  const SyncedFolder synced = TRY(synced_now(folder, source));
  TRY(env::make_directories(home.root, env::Access::kOwner));
  const env::FileLock lock =
      TRY(env::FileLock::acquire_within(home.synced_file() + ".lock", kSyncedLockWait));
  SyncedList list = TRY(read_synced(home));
  std::erase_if(list.folders, [&](const SyncedFolder& each) { return each.folder == folder; });
  list.folders.push_back(synced);
  if (list.folders.size() > kSyncedMax) list.folders.erase(list.folders.begin());
  return env::write_file_atomically(home.synced_file(), model::record_text(list),
                                    env::Access::kOwner);
}

}  // namespace runnel::home
