#include "volume/testing/memory_volume.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "hash/xxh3.h"
#include "volume/chunk_read.h"
#include "volume/clone.h"
#include "volume/file_cutter.h"

namespace runnel::volume::testing {
namespace {

constexpr std::int64_t kChanged = 1'700'000'000;

class ContentsSource final : public SourceTree {
 public:
  explicit ContentsSource(Contents files) : files_(std::move(files)), next_(files_.begin()) {}

  Result<ReadBatch> next() override {
    ReadBatch batch;
    while (next_ != files_.end() && batch.bytes.size() < kBatchBytes) TRY(read(batch));
    batch.is_last = next_ == files_.end();
    return batch;
  }
  const std::vector<std::string>& passed_over() const override { return passed_over_; }

 private:
  Result<void> read(ReadBatch& batch) {
    const auto& [path, content] = *next_;
    ReadEntry entry;
    entry.path = TRY(path_parts(path));
    entry.node.changed = kChanged;
    entry.is_first = !cutter_.has_value();
    if (path.ends_with('/')) {
      entry.node.kind = NodeKind::kFolder;
      entry.node.mode = 0755;
    } else {
      cut(batch, entry, content);
    }
    if (entry.is_whole) {
      ++next_;
      cutter_.reset();
    }
    batch.entries.push_back(std::move(entry));
    return {};
  }

  void cut(ReadBatch& batch, ReadEntry& entry, const std::string& content) {
    if (!cutter_) {
      cutter_.emplace().add(content);
      cutter_->end();
    }
    entry.is_whole = cutter_->cut(batch, entry);
    if (entry.is_whole) cutter_->finish(entry.node);
  }

  const Contents files_;
  Contents::const_iterator next_;
  std::optional<FileCutter> cutter_;  // Of the file that is read.
  const std::vector<std::string> passed_over_;
};

}  // namespace

std::string noise(std::size_t size, std::uint64_t seed) {
  SplitMix64 numbers(seed);
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t number = numbers.next();
    std::memcpy(bytes.data() + at, &number, std::min(sizeof number, size - at));
  }
  return bytes;
}

std::unique_ptr<SourceTree> source_of_contents(const Contents& files) {
  return std::make_unique<ContentsSource>(files);
}

MemoryVolume::MemoryVolume(std::shared_ptr<async::EventLoop> loop, object::StoreFinder* others)
    : loop_(std::move(loop)),
      store_(std::make_shared<object::MemoryStore>()),
      random_(11),
      volume_(run(Volume::create({*store_, env::real_clock(), random_, {}, others}, "data"))) {}

// Two volumes never draw the same names.
MemoryVolume::MemoryVolume(MemoryVolume& origin, const std::string& version,
                           const std::string& name)
    : loop_(origin.loop_),
      store_(origin.store_),
      random_(hash::xxh3(name)),
      volume_(run(clone_volume({*store_, env::real_clock(), random_, {}}, origin.volume_, version,
                               name))) {}

PutResult MemoryVolume::put(const Contents& files, PutOptions options) {
  return run(put_tree(*loop_, volume_, source_of_contents(files), std::move(options), {}));
}

Contents MemoryVolume::contents(const std::string& version) {
  return contents(run(volume_.snapshot(version)));
}

Contents MemoryVolume::contents(Snapshot snapshot) {
  return run(contents_of(std::move(snapshot), kRootInode, ""));
}

Async<Contents> MemoryVolume::contents_of(Snapshot snapshot, Inode folder, std::string path) {
  Contents all;
  const auto entries = CO_TRY(co_await snapshot.list(folder, "", 1 << 20));
  if (entries.empty() && !path.empty()) all[path] = "";
  for (const Snapshot::Entry& entry : entries) {
    const Node node = CO_TRY(co_await snapshot.node(entry.what.inode));
    const std::string below = path + entry.name;
    if (node.kind == NodeKind::kFolder) {
      all.merge(CO_TRY(co_await contents_of(snapshot, entry.what.inode, below + "/")));
    } else if (node.kind == NodeKind::kLink) {
      all[below] = "-> " + node.target;
    } else {
      auto extents = in_pieces(CO_TRY(co_await snapshot.extents(entry.what.inode, node)));
      all[below] =
          CO_TRY(co_await read_bytes(volume_.ranges(), std::move(extents), 0, node.size, {}));
    }
  }
  co_return all;
}

Result<std::string> MemoryVolume::try_content(const std::string& path, const std::string& version) {
  Snapshot snapshot = run(volume_.snapshot(version));
  const Snapshot::Found found = TRY(try_run(snapshot.at(path)));
  auto extents = in_pieces(run(snapshot.extents(found.inode, found.node)));
  return try_run(read_bytes(volume_.ranges(), std::move(extents), 0, found.node.size, {}));
}

std::string MemoryVolume::content(const std::string& path, const std::string& version) {
  return MUST(try_content(path, version));
}

Node MemoryVolume::node(const std::string& path, const std::string& version) {
  Snapshot snapshot = run(volume_.snapshot(version));
  return run(snapshot.at(path)).node;
}

Manifest MemoryVolume::newest() { return run(volume_.snapshot("latest")).manifest(); }

std::int64_t MemoryVolume::objects(const std::string& kind) {
  std::int64_t count = 0;
  for (const auto& [key, object] : store_->objects()) {
    count += key.starts_with(volume_.prefix() + kind) ? 1 : 0;
  }
  return count;
}

}  // namespace runnel::volume::testing
