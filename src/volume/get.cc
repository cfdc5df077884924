#include "volume/get.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "async/worker.h"
#include "base/check.h"
#include "volume/extent_reader.h"
#include "volume/kept_session.h"
#include "volume/target_tree.h"

namespace runnel::volume {
namespace {

constexpr std::uint64_t kBatchBytes = 64 << 20;
constexpr std::size_t kBatchFiles = 16'384;
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
  std::vector<Result<std::string>> chunks;  // What the extents hold.
  std::uint64_t bytes = 0;
};

// A file that cannot be had is passed over; the store's own errors are everybody's.
bool is_of_a_file(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kNotFound;
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
        reader_(loop, volume.store(), volume.prefix(), stop_) {}

  Async<GetProgress> run(std::string path, std::string target) {
    worker_ = CO_TRY(async::Worker::create(loop_, {.name = "volume-get"}));
    Result<void> done = co_await get(std::move(path), std::move(target));
    MUST(co_await reader_.close());
    MUST(co_await worker_->stop());
    CO_TRY(std::move(done));
    if (failed_) co_return *failed_;
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
      std::vector<Extent> part;
      std::uint64_t bytes = 0;
      for (; next < extents.size() && bytes < kBatchBytes; ++next) {
        bytes += extents[next].length;
        part.push_back(std::move(extents[next]));
      }
      const auto chunks = std::make_shared<const std::vector<Result<std::string>>>(
          CO_TRY(co_await reader_.read(std::move(part))));
      if (const Error* const error = first_error(*chunks, 0, chunks->size())) {
        co_return pass_over(target, *error);
      }
      CO_TRY(co_await worker_->run([&file, chunks] { return append(file, *chunks); }));
      done_.bytes += static_cast<std::int64_t>(bytes);
      if (options_.progress) options_.progress(done_);
    }
    CO_TRY(co_await worker_->run([&file, &node] { return file.finish(node); }));
    ++done_.files;
    co_return {};
  }

  static Result<void> append(TargetFile& file, const std::vector<Result<std::string>>& chunks) {
    for (const Result<std::string>& chunk : chunks) TRY(file.append(*chunk));
    return {};
  }

  // Null: all of them are there.
  static const Error* first_error(const std::vector<Result<std::string>>& chunks, std::size_t begin,
                                  std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) {
      if (!chunks[index].ok()) return &chunks[index].error();
    }
    return nullptr;
  }

  // The others are got all the same.
  Result<void> pass_over(const std::string& path, const Error& error) {
    if (!is_of_a_file(error)) return error;
    ++passed_over_;
    if (failed_) {
      failed_->hint = std::to_string(passed_over_) +
                      " files could not be had; all others are there. See them all: runnel "
                      "volume fsck " +
                      volume_.name();
      return {};
    }
    failed_ = error;
    failed_->message = path + ": " + error.message;
    failed_->hint =
        "all other files are there; see what else is damaged: runnel volume fsck " + volume_.name();
    return {};
  }

  // Fetches what the files of the batch hold, and writes them.
  Async<void> write_batch() {
    const auto batch = std::make_shared<Batch>(std::exchange(batch_, {}));
    batch->chunks = CO_TRY(co_await reader_.read(batch->extents));
    std::vector<const BatchFile*> whole;
    for (const BatchFile& file : batch->files) {
      const Error* const error = first_error(batch->chunks, file.begin, file.end);
      if (error == nullptr) {
        whole.push_back(&file);
      } else {
        CO_TRY(pass_over(file.path, *error));
      }
    }
    CO_TRY(co_await worker_->run([batch, &whole] { return write_files(*batch, whole); }));
    done_.files += std::ssize(whole);
    done_.bytes += static_cast<std::int64_t>(batch->bytes);
    if (options_.progress) options_.progress(done_);
    co_return {};
  }

  static Result<void> write_files(const Batch& batch, const std::vector<const BatchFile*>& files) {
    for (const BatchFile* const file : files) {
      std::string bytes;
      bytes.reserve(file->node.size);
      for (std::size_t index = file->begin; index < file->end; ++index) {
        bytes += *batch.chunks[index];
      }
      TRY(make_file(file->path, file->node, bytes));
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
  ExtentReader reader_;
  std::optional<Error> failed_;  // The first file that could not be had.
  std::int64_t passed_over_ = 0;
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
