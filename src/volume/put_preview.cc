#include "volume/put_preview.h"

#include <map>
#include <utility>

#include "async/worker.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kNamesPreviewed = 4'096;

class Preview {
 public:
  Preview(Snapshot& newest, async::StopToken stop) : newest_(newest), stop_(std::move(stop)) {}

  Async<void> read(SourceTree& source, async::Worker& worker) {
    for (bool more = true; more;) {
      CO_TRY(stop_.check());
      ReadBatch batch = CO_TRY(co_await worker.run([&source] { return source.next(); }));
      more = !batch.is_last;
      for (ReadEntry& entry : batch.entries) {
        if (entry.is_whole) source_[path_text(entry.path)] = std::move(entry.node);
      }
    }
    co_return {};
  }

  // `path`: below the folder that is put into, with '/' at its end, or empty.
  Async<void> compare(Inode folder, std::string path) {
    CO_TRY(walked_.enter(folder));
    for (std::string after;;) {
      CO_TRY(stop_.check());
      const auto entries = CO_TRY(co_await newest_.list(folder, after, kNamesPreviewed));
      if (entries.empty()) co_return {};
      after = entries.back().name;
      for (const Snapshot::Entry& entry : entries) {
        const auto found = source_.find(path + entry.name);
        if (found == source_.end()) {
          done_.removed.push_back(path + entry.name);
          continue;
        }
        const Node node = CO_TRY(co_await newest_.node(entry.what.inode));
        const bool is_folder = node.kind == NodeKind::kFolder;
        if (is_folder && found->second.kind == NodeKind::kFolder) {
          CO_TRY(co_await compare(entry.what.inode, path + entry.name + "/"));
        }
        if (is_same(node, found->second)) source_.erase(found);
      }
    }
  }

  PutPreview take() {
    for (const auto& [path, node] : source_) done_.put.push_back(path);
    return std::move(done_);
  }

 private:
  // As far as the hash of a tree tells.
  static bool is_same(const Node& one, const Node& other) {
    if (one.kind != other.kind || one.mode != other.mode) return false;
    switch (one.kind) {
      case NodeKind::kFile: return one.size == other.size && one.hash == other.hash;
      case NodeKind::kFolder: return true;
      case NodeKind::kLink: return one.target == other.target;
    }
    return false;
  }

  Snapshot& newest_;
  const async::StopToken stop_;
  WalkedFolders walked_;
  std::map<std::string, Node> source_;  // What is not found to be the same.
  PutPreview done_;
};

Async<void> preview(Preview& preview, Snapshot& newest, std::string into, SourceTree& source,
                    async::Worker& worker) {
  CO_TRY(co_await preview.read(source, worker));
  if (newest.manifest().version.empty()) co_return {};
  const Result<Snapshot::Found> found = co_await newest.at(std::move(into));
  if (!found.ok() && found.error().code == Errc::kNotFound) co_return {};
  co_return co_await preview.compare(CO_TRY(Result<Snapshot::Found>(found)).inode, "");
}

}  // namespace

Async<PutPreview> preview_mirror(async::EventLoop& loop, Snapshot& newest, std::string into,
                                 std::unique_ptr<SourceTree> source, async::StopToken stop) {
  const auto worker = CO_TRY(async::Worker::create(loop, {.name = "volume-preview"}));
  Preview made(newest, std::move(stop));
  const Result<void> done = co_await preview(made, newest, std::move(into), *source, *worker);
  MUST(co_await worker->stop());
  CO_TRY(Result<void>(done));
  co_return made.take();
}

}  // namespace runnel::volume
