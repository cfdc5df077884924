#include "volume/get.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/gate.h"
#include "async/worker.h"
#include "base/check.h"
#include "env/files.h"
#include "volume/chunk_read.h"
#include "volume/fetch_plan.h"
#include "volume/kept_session.h"
#include "volume/target_tree.h"

namespace runnel::volume {
namespace {

constexpr std::uint64_t kBatchBytes = 64 << 20;
constexpr std::size_t kBatchFiles = 16'384;
constexpr int kFetchesUnderWay = 8;
constexpr std::size_t kNamesAtOnce = 4'096;

// A file of the batch: its extents are [begin, end) of the batch's.
struct BatchFile {
  std::string path;
  Node node;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Batch {
  std::vector<BatchFile> files;
  std::vector<Extent> extents;
  std::vector<std::string> chunks;  // What the extents hold.
  std::uint64_t bytes = 0;
};

// The error of an extent of the batch, with the file that it belongs to.
Error named(const Batch& batch, std::size_t extent, Error error) {
  const auto after =
      std::upper_bound(batch.files.begin(), batch.files.end(), extent,
                       [](std::size_t index, const BatchFile& file) { return index < file.end; });
  CHECK(after != batch.files.end(), "an extent of no file");
  error.message = after->path + ": " + error.message;
  return error;
}

class Get {
 public:
  Get(async::EventLoop& loop, Volume& volume, Snapshot& snapshot, GetOptions options,
      async::StopToken stop)
      : loop_(loop),
        volume_(volume),
        snapshot_(snapshot),
        options_(std::move(options)),
        stop_(std::move(stop)),
        fetches_(loop),
        fetched_(loop) {}

  Async<GetProgress> run(std::string path, std::string target) {
    worker_ = CO_TRY(async::Worker::create(loop_, {.name = "volume-get"}));
    Result<void> done = co_await get(std::move(path), std::move(target));
    MUST(co_await fetches_.close());
    MUST(co_await worker_->stop());
    CO_TRY(std::move(done));
    co_return done_;
  }

 private:
  Async<void> get(std::string path, std::string target) {
    Snapshot::Found found = CO_TRY(co_await snapshot_.at(path));
    if (found.node.kind == NodeKind::kFolder) {
      CO_TRY(co_await worker_->run([&target] { return make_folder(target); }));
      CO_TRY(co_await get_folder(found.inode, target));
    } else {
      CO_TRY(co_await take(target, found.inode, std::move(found.node)));
    }
    CO_TRY(co_await write_batch());
    // From the deepest up: what is made in a folder changes its time.
    std::reverse(folders_.begin(), folders_.end());
    co_return co_await worker_->run([this]() -> Result<void> {
      for (const auto& [folder, node] : folders_) TRY(set_attributes(folder, node));
      return {};
    });
  }

  Async<void> get_folder(Inode folder, std::string target) {
    std::string after;
    while (true) {
      CO_TRY(stop_.check());
      std::vector<Snapshot::Entry> entries =
          CO_TRY(co_await snapshot_.list(folder, after, kNamesAtOnce));
      if (entries.empty()) co_return {};
      after = entries.back().name;
      for (Snapshot::Entry& entry : entries) {
        Node node = CO_TRY(co_await snapshot_.node(entry.what.inode));
        CO_TRY(co_await take(target + "/" + entry.name, entry.what.inode, std::move(node)));
      }
    }
  }

  Async<void> take(std::string target, Inode inode, Node node) {
    switch (node.kind) {
      case NodeKind::kFolder:
        CO_TRY(co_await worker_->run([&target] { return make_folder(target); }));
        folders_.emplace_back(target, std::move(node));
        co_return co_await get_folder(inode, std::move(target));
      case NodeKind::kLink:
        co_return co_await worker_->run([&target, &node] { return make_link(target, node); });
      case NodeKind::kFile: break;
    }
    std::vector<Extent> extents = CO_TRY(co_await snapshot_.extents(inode, node));
    if (node.size > kBatchBytes) {
      co_return co_await get_long(std::move(target), std::move(node), std::move(extents));
    }
    batch_.bytes += node.size;
    const std::size_t begin = batch_.extents.size();
    for (Extent& extent : extents) batch_.extents.push_back(std::move(extent));
    batch_.files.push_back({std::move(target), std::move(node), begin, batch_.extents.size()});
    if (batch_.bytes < kBatchBytes && batch_.files.size() < kBatchFiles) co_return {};
    co_return co_await write_batch();
  }

  // A file that is longer than a batch comes part by part.
  Async<void> get_long(std::string target, Node node, std::vector<Extent> extents) {
    TargetFile file =
        CO_TRY(co_await worker_->run([&target] { return TargetFile::begin(target); }));
    for (std::size_t next = 0; next < extents.size();) {
      CO_TRY(stop_.check());
      const auto part = std::make_shared<Batch>();
      for (; next < extents.size() && part->bytes < kBatchBytes; ++next) {
        part->bytes += extents[next].length;
        part->extents.push_back(std::move(extents[next]));
      }
      part->files.push_back({.path = target, .node = {}, .begin = 0, .end = part->extents.size()});
      CO_TRY(co_await fetch_all(part));
      CO_TRY(co_await worker_->run([&file, part] { return append(file, *part); }));
      done_.bytes += static_cast<std::int64_t>(part->bytes);
      if (options_.progress) options_.progress(done_);
    }
    CO_TRY(co_await worker_->run([&file, &node] { return file.finish(node); }));
    ++done_.files;
    co_return {};
  }

  static Result<void> append(TargetFile& file, const Batch& part) {
    for (std::size_t index = 0; index < part.extents.size(); ++index) {
      TRY(file.append(bytes_at(part, index)));
    }
    return {};
  }

  // Fetches what the files of the batch hold, and writes them.
  Async<void> write_batch() {
    const auto batch = std::make_shared<Batch>(std::exchange(batch_, {}));
    CO_TRY(co_await fetch_all(batch));
    CO_TRY(co_await worker_->run([batch] { return write_files(*batch); }));
    done_.files += std::ssize(batch->files);
    done_.bytes += static_cast<std::int64_t>(batch->bytes);
    if (options_.progress) options_.progress(done_);
    co_return {};
  }

  Async<void> fetch_all(std::shared_ptr<Batch> batch) {
    batch->chunks.resize(batch->extents.size());
    for (const Fetch& fetch : plan_fetches(batch->extents)) {
      while (under_way_ >= kFetchesUnderWay) CO_TRY(co_await fetched_.wait());
      if (failed_) break;
      ++under_way_;
      CO_TRY(loop_.spawn(fetches_, fetch_into(fetch, batch)));
    }
    while (under_way_ > 0) CO_TRY(co_await fetched_.wait());
    if (failed_) co_return *failed_;
    co_return {};
  }

  // The batch waits for all of its fetches.
  Async<void> fetch_into(Fetch fetch, std::shared_ptr<Batch> batch) {
    std::string bytes(fetch.length, '\0');
    const Result<void> read =
        co_await volume_.store().read(volume_.prefix() + pack_key(fetch.pack),
                                      static_cast<std::int64_t>(fetch.offset), bytes, stop_);
    if (!read.ok() && !failed_) failed_ = named(*batch, fetch.extents.front(), read.error());
    for (const std::size_t index : fetch.extents) {
      if (!read.ok()) break;
      const Extent& extent = batch->extents[index];
      Result<std::string> chunk = chunk_of(
          extent, std::string_view(bytes).substr(extent.offset - fetch.offset, extent.stored));
      if (!chunk.ok() && !failed_) failed_ = named(*batch, index, chunk.error());
      if (chunk.ok()) batch->chunks[index] = *std::move(chunk);
    }
    --under_way_;
    fetched_.notify_all();
    co_return {};
  }

  static std::string bytes_at(const Batch& batch, std::size_t index) {
    const Extent& extent = batch.extents[index];
    return extent.is_hole() ? std::string(extent.length, '\0') : batch.chunks[index];
  }

  static Result<void> write_files(const Batch& batch) {
    for (const BatchFile& file : batch.files) {
      std::string bytes;
      bytes.reserve(file.node.size);
      for (std::size_t index = file.begin; index < file.end; ++index) {
        bytes += bytes_at(batch, index);
      }
      TRY(make_file(file.path, file.node, bytes));
    }
    return {};
  }

  async::EventLoop& loop_;
  Volume& volume_;
  Snapshot& snapshot_;
  GetOptions options_;
  const async::StopToken stop_;
  std::unique_ptr<async::Worker> worker_;
  Batch batch_;
  std::vector<std::pair<std::string, Node>> folders_;
  async::Gate fetches_;
  async::Notifier fetched_;
  int under_way_ = 0;
  std::optional<Error> failed_;
  GetProgress done_;
};

Async<GetProgress> get_snapshot(async::EventLoop& loop, Volume& volume, Snapshot& snapshot,
                                std::string path, std::string target, GetOptions options,
                                async::StopToken stop) {
  Get get(loop, volume, snapshot, std::move(options), std::move(stop));
  co_return co_await get.run(std::move(path), std::move(target));
}

}  // namespace

Async<GetProgress> get_tree(async::EventLoop& loop, Volume& volume, std::string version,
                            std::string path, std::string target, GetOptions options,
                            async::StopToken stop) {
  Snapshot snapshot =
      CO_TRY(co_await volume.begin_reading(session_of_this_process("get"), std::move(version)));
  GetProgress got = CO_TRY(co_await with_session<GetProgress>(
      loop, volume, [] { return std::set<std::string>(); },
      [&](async::StopToken token) {
        return get_snapshot(loop, volume, snapshot, std::move(path), std::move(target),
                            std::move(options), std::move(token));
      },
      std::move(stop)));
  got.version = snapshot.manifest().version;
  co_return got;
}

}  // namespace runnel::volume
