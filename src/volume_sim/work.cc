#include "volume_sim/work.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "volume/chunk_read.h"
#include "volume/clone.h"
#include "volume/delete.h"
#include "volume/file_hash.h"
#include "volume/gc.h"
#include "volume/kept_session.h"
#include "volume/put.h"
#include "volume/rearrange.h"
#include "volume_sim/expected.h"

namespace runnel::volume_sim {
namespace {

constexpr int kFolders = 3;
constexpr int kFilesOfFolder = 5;
constexpr int kContents = 10;  // So few that puts take over chunks of one another.

int pick(Process& process, std::int64_t count) {
  return static_cast<int>(process.dice().next() % static_cast<std::uint64_t>(count));
}

std::string content(int number) {
  std::string text = "content " + std::to_string(number) + ":";
  for (int word = 0; word < number * 40; ++word) text += std::to_string(word * number);
  return text;
}

// A folder with a few files.
class SmallSource final : public volume::SourceTree {
 public:
  explicit SmallSource(std::map<std::string, int> files) : files_(std::move(files)) {}

  Result<volume::ReadBatch> next() override {
    volume::ReadBatch batch;
    for (const auto& [name, number] : files_) {
      const std::string bytes = content(number);
      volume::ReadEntry entry;
      entry.path = {name};
      entry.node.size = bytes.size();
      volume::FileHash hash;
      hash.add(bytes);
      entry.node.hash = hash.finish();
      entry.chunks = {{hash::sha256(bytes), batch.bytes.size(), bytes.size()}};
      batch.bytes += bytes;
      batch.entries.push_back(std::move(entry));
    }
    batch.is_last = true;
    return batch;
  }
  const std::vector<std::string>& passed_over() const override { return passed_over_; }

 private:
  const std::map<std::string, int> files_;
  const std::vector<std::string> passed_over_;
};

// The key of the session that a volume has; empty for none.
std::string session_key(volume::Volume& volume) {
  return volume.has_session() ? volume.session().session().key() : "";
}

Async<Oracle::Files> files_of(Process& process, volume::Volume& volume, volume::Snapshot& snapshot,
                              volume::Inode folder, std::string path, Duration pause) {
  Oracle::Files files;
  for (const auto& entry : CO_TRY(co_await snapshot.list(folder, "", 1'000))) {
    const std::string name = path + "/" + entry.name;
    const volume::Inode inode = entry.what.inode;
    const volume::Node node = CO_TRY(co_await snapshot.node(inode));
    if (node.kind == volume::NodeKind::kFolder) {
      files.merge(CO_TRY(co_await files_of(process, volume, snapshot, inode, name, pause)));
      continue;
    }
    if (node.kind == volume::NodeKind::kLink) {
      files[name] = "to " + node.target;
      continue;
    }
    CO_TRY(co_await process.loop().sleep(pause));
    const auto extents = CO_TRY(co_await snapshot.extents(inode, node));
    const std::string bytes =
        CO_TRY(co_await volume::read_bytes(volume.ranges(), extents, 0, node.size, {}));
    volume::FileHash hash;
    hash.add(bytes);
    if (hash.finish() != node.hash) co_return Error(Errc::kCorrupt, "wrong bytes of " + name);
    files[name] = hash::hex(node.hash);
  }
  co_return files;
}

Async<Oracle::Files> read_slowly(Process& process, volume::Volume& volume,
                                 volume::Snapshot& snapshot, async::StopToken stop) {
  const Duration pause = Duration::millis(pick(process, 6'000));
  CO_TRY(stop.check());
  co_return co_await files_of(process, volume, snapshot, volume::kRootInode, "", pause);
}

// Often the newest one.
std::string any_version(Process& process, const volume::Volume& volume) {
  const std::size_t count = volume.head().recent.size();
  CHECK(count <= volume::Head::kRecentMax, "a head has its last versions alone");
  if (count == 0 || pick(process, 2) != 0) return "latest";
  return volume.head().recent[process.dice().next() % count].version;
}

}  // namespace

Async<volume::Volume> open_own(Process& process, Oracle& oracle, const char* what) {
  Result<volume::Volume> opened =
      co_await volume::Volume::open(process.context(), process.volume());
  tell(oracle, what, opened);
  co_return opened;
}

Async<void> put_files(Process& process, Oracle& oracle) {
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "put"));
  std::map<std::string, int> files;
  for (int count = 1 + pick(process, 4); count > 0; --count) {
    files["f" + std::to_string(pick(process, kFilesOfFolder))] = pick(process, kContents);
  }
  volume::PutOptions options;
  options.into = "d" + std::to_string(pick(process, kFolders));
  options.mirror = pick(process, 3) == 0;
  options.source = "/" + options.into;  // Whoever puts it again goes on where one was killed.
  const Result<volume::PutResult> put = co_await volume::put_tree(
      process.loop(), volume, std::make_unique<SmallSource>(files), options, {});
  tell(oracle, "put", put);
  if (put.ok()) oracle.told_published(put->manifest);
  co_return {};
}

Async<void> remove_files(Process& process, Oracle& oracle) {
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "removal"));
  volume::Edit root = volume::Edit::folder();
  root.entries["d" + std::to_string(pick(process, kFolders))].gone = true;
  const Result<volume::Manifest> done = co_await volume.publish(root, {}, 0, "");
  tell(oracle, "removal", done);
  if (done.ok() && !done->version.empty()) oracle.told_published(*done);
  co_return {};
}

Async<void> rearrange(Process& process, Oracle& oracle) {
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "rearrangement"));
  const std::string from = "d" + std::to_string(pick(process, kFolders));
  const std::string to = "d" + std::to_string(pick(process, kFolders));
  Result<volume::Rearranged> done = Error(Errc::kCancelled, "nothing was picked");
  if (pick(process, 3) == 0) {
    const std::string name = "/f" + std::to_string(pick(process, kFilesOfFolder));
    done = co_await volume::move_path(volume, from + name, to + name, "");
  } else {
    const std::string version = any_version(process, volume);
    done = co_await volume::restore_path(process.loop(), volume, version, from, to, "", {});
  }
  // There may be no such path, or no such version any more.
  const bool cannot_be =
      !done.ok() && (done.error().code == Errc::kNotFound || done.error().code == Errc::kInvalid);
  if (!cannot_be) tell(oracle, "rearrangement", done);
  const bool is_made = done.ok() && !done->manifest.version.empty();
  if (is_made) oracle.told_published(done->manifest);
  co_return {};
}

// By a head that was read some time ago, as a mount's server has it of the command that mounts.
Async<volume::Volume> open_by_seen(Process& process, Oracle& oracle) {
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "read"));
  const volume::SeenHead seen = volume.seen_head();
  CO_TRY(co_await process.loop().sleep(Duration::millis(pick(process, 5'000))));
  Result<volume::Volume> opened =
      co_await volume::Volume::open_seen(process.context(), process.volume(), seen);
  tell(oracle, "read", opened);
  co_return opened;
}

Async<void> read_version(Process& process, Oracle& oracle) {
  const bool is_seen = pick(process, 3) == 0;
  volume::Volume volume = CO_TRY(is_seen ? co_await open_by_seen(process, oracle)
                                         : co_await open_own(process, oracle, "read"));
  const std::string version = any_version(process, volume);
  const Result<volume::VersionPlace> place = volume.place_of(version);
  const std::string uuid = volume.head().uuid;
  Result<volume::Snapshot> begun =
      co_await volume.begin_reading(volume.processes().this_one("read"), version);
  const bool was_dropped = !begun.ok() && begun.error().code == Errc::kNotFound;
  if (!was_dropped) tell(oracle, "read", begun);
  if (was_dropped && place.ok()) oracle.told_dropped(process.volume(), uuid, place->version);
  if (!begun.ok()) co_return {};
  const std::string session = session_key(volume);
  if (!session.empty()) {
    oracle.holds(session, volume.prefix() + volume.session().session().record().pin);
  }
  const std::string id = begun->manifest().version;
  const Result<Oracle::Files> files = co_await volume::with_session<Oracle::Files>(
      process.loop(), volume, [] { return std::set<std::string>(); },
      [&](async::StopToken stop) { return read_slowly(process, volume, *begun, std::move(stop)); },
      {});
  oracle.lets_go(session);
  const bool is_unheld = session.empty() && !files.ok() && files.error().code == Errc::kNotFound;
  if (is_unheld) oracle.told_dropped(process.volume(), uuid, id);
  if (!is_unheld) tell(oracle, "read", files);
  if (files.ok()) oracle.saw(id, *files);
  co_return {};
}

Async<void> tag_version(Process& process, Oracle& oracle) {
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "tag"));
  const std::string tag = "t" + std::to_string(pick(process, 2));
  const bool goes = pick(process, 2) == 0;
  const std::uint64_t which = process.dice().next();
  const Result<void> done =
      co_await volume.change_head([&](const volume::Head& now) -> Result<volume::Head> {
        volume::Head next = now;
        next.tags.erase(tag);
        if (!goes && !now.recent.empty()) next.tags[tag] = now.recent[which % now.recent.size()];
        // Whoever reads it: as when enough have followed it.
        if (goes && now.recent.size() > 1) next.recent.pop_back();
        return next;
      });
  tell(oracle, "tag", done);
  co_return {};
}

Async<void> collect(Process& process, Oracle& oracle) {
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "gc"));
  volume::GcOptions options;
  if (pick(process, 3) > 0) options.keep = Duration::seconds(pick(process, 3) * 60);
  options.wait = pick(process, 4) > 0;
  const Result<volume::GcResult> done =
      co_await volume::collect_garbage(process.loop(), process.clock(), volume, options, {});
  tell(oracle, "gc", done);
  co_return {};
}

Async<void> create_volume(Process& process, Oracle& oracle) {
  const Result<volume::Volume> made =
      co_await volume::Volume::create(process.context(), process.volume());
  tell(oracle, "creation", made);
  if (made.ok()) oracle.told_made(made->head().uuid);
  co_return {};
}

Async<void> clone_another(Process& process, Oracle& oracle) {
  if (process.others().empty()) co_return {};
  const auto which = static_cast<std::size_t>(pick(process, std::ssize(process.others())));
  Result<volume::Volume> opened =
      co_await volume::Volume::open(process.context(), process.others()[which]);
  tell(oracle, "clone", opened);
  volume::Volume origin = CO_TRY(std::move(opened));
  const Result<volume::Volume> done = co_await volume::clone_volume(
      process.context(), origin, any_version(process, origin), process.volume());
  // The version may have been dropped, and an empty volume has none.
  const bool was_dropped = !done.ok() && done.error().code == Errc::kNotFound;
  if (!was_dropped) tell(oracle, "clone", done);
  if (done.ok()) oracle.told_made(done->head().uuid);
  co_return {};
}

Async<void> delete_whole(Process& process, Oracle& oracle) {
  Result<volume::Volume> opened =
      co_await volume::Volume::open_to_delete(process.context(), process.volume());
  tell(oracle, "deletion", opened);
  volume::Volume volume = CO_TRY(std::move(opened));
  const bool waits = pick(process, 4) > 0;
  const Result<volume::DeleteResult> done =
      co_await volume::delete_volume(process.loop(), process.clock(), volume, {.wait = waits}, {});
  tell(oracle, "deletion", done);
  if (done.ok()) oracle.told_deleted(volume.head().uuid);
  co_return {};
}

}  // namespace runnel::volume_sim
