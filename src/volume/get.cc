#include "volume/get.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "volume/extent_reader.h"
#include "volume/folder_sink.h"
#include "volume/kept_session.h"

namespace runnel::volume {
namespace {

constexpr std::uint64_t kBatchBytes = 64 << 20;
constexpr std::size_t kBatchEntries = 16'384;
constexpr std::size_t kNamesAtOnce = 4'096;

// An entry of the batch: its extents are [begin, end) of the batch's.
struct BatchEntry {
  std::string path;
  Node node;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Batch {
  std::vector<BatchEntry> entries;
  std::vector<Extent> extents;
  std::uint64_t bytes = 0;
};

using Chunks = std::vector<Result<std::string>>;

// A file that cannot be had is passed over; the store's own errors are everybody's.
bool is_of_a_file(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kNotFound;
}

// Null: all of them are there.
const Error* first_error(const Chunks& chunks, std::size_t begin, std::size_t end) {
  for (std::size_t index = begin; index < end; ++index) {
    if (!chunks[index].ok()) return &chunks[index].error();
  }
  return nullptr;
}

std::vector<std::string> take_chunks(Chunks& chunks, std::size_t begin, std::size_t end) {
  std::vector<std::string> taken;
  taken.reserve(end - begin);
  for (std::size_t index = begin; index < end; ++index) taken.push_back(*std::move(chunks[index]));
  return taken;
}

class Get {
 public:
  Get(async::EventLoop& loop, Volume& volume, Snapshot& snapshot, TreeSink& sink,
      GetOptions options, async::StopToken stop)
      : volume_(volume),
        snapshot_(snapshot),
        sink_(sink),
        options_(std::move(options)),
        stop_(std::move(stop)),
        reader_(loop, volume.ranges(), stop_) {}

  Async<GetProgress> run(std::string path) {
    root_ = CO_TRY(path_parts(path));
    Result<void> done = co_await get(std::move(path));
    MUST(co_await reader_.close());
    CO_TRY(std::move(done));
    if (failed_) co_return *failed_;
    co_return done_;
  }

 private:
  Async<void> get(std::string path) {
    Snapshot::Found found = CO_TRY(co_await snapshot_.at(path));
    CO_TRY(co_await take("", found.inode, std::move(found.node)));
    CO_TRY(co_await write_batch());
    co_return co_await sink_.finish();
  }

  Async<void> get_folder(Inode folder, std::string path) {
    CO_TRY(walked_.enter(folder));
    std::string after;
    while (true) {
      CO_TRY(stop_.check());
      std::vector<Snapshot::Entry> entries =
          CO_TRY(co_await snapshot_.list(folder, after, kNamesAtOnce));
      if (entries.empty()) co_return {};
      after = entries.back().name;
      for (Snapshot::Entry& entry : entries) {
        Node node = CO_TRY(co_await snapshot_.node(entry.what.inode));
        std::string below = path.empty() ? entry.name : path + "/" + entry.name;
        CO_TRY(co_await take(std::move(below), entry.what.inode, std::move(node)));
      }
    }
  }

  Async<void> take(std::string path, Inode inode, Node node) {
    if (node.kind != NodeKind::kFile) {
      const bool is_folder = node.kind == NodeKind::kFolder;
      const std::size_t end = batch_.extents.size();
      batch_.entries.push_back({path, std::move(node), end, end});
      if (batch_.entries.size() >= kBatchEntries) CO_TRY(co_await write_batch());
      if (is_folder) co_return co_await get_folder(inode, std::move(path));
      co_return {};
    }
    if (options_.keeps_same && CO_TRY(co_await sink_.has(path, node))) co_return {};
    std::vector<Extent> extents = in_pieces(CO_TRY(co_await snapshot_.extents(inode, node)));
    if (node.size > kBatchBytes) {
      CO_TRY(co_await write_batch());
      co_return co_await get_long(std::move(path), std::move(node), std::move(extents));
    }
    batch_.bytes += node.size;
    const std::size_t begin = batch_.extents.size();
    for (Extent& extent : extents) batch_.extents.push_back(std::move(extent));
    batch_.entries.push_back({std::move(path), std::move(node), begin, batch_.extents.size()});
    if (batch_.bytes < kBatchBytes && batch_.entries.size() < kBatchEntries) co_return {};
    co_return co_await write_batch();
  }

  // A file that is longer than a batch comes part by part.
  Async<void> get_long(std::string path, Node node, std::vector<Extent> extents) {
    CO_TRY(co_await sink_.begin(path, std::move(node)));
    for (std::size_t next = 0; next < extents.size();) {
      CO_TRY(stop_.check());
      std::vector<Extent> part;
      std::uint64_t bytes = 0;
      for (; next < extents.size() && bytes < kBatchBytes; ++next) {
        bytes += extents[next].length;
        part.push_back(std::move(extents[next]));
      }
      Chunks chunks = CO_TRY(co_await reader_.read(std::move(part)));
      if (const Error* const error = first_error(chunks, 0, chunks.size())) {
        const bool is_dropped = CO_TRY(co_await sink_.drop());
        if (!is_dropped) options_.passes_over = false;
        co_return pass_over(path, *error);
      }
      CO_TRY(co_await sink_.append(take_chunks(chunks, 0, chunks.size())));
      done_.bytes += static_cast<std::int64_t>(bytes);
      if (options_.progress) options_.progress(done_);
    }
    CO_TRY(co_await sink_.end());
    ++done_.files;
    co_return {};
  }

  // As a person names it.
  std::string named(const std::string& path) const {
    std::string text = volume_.name() + ":";
    for (const std::string& part : root_) text += "/" + part;
    return path.empty() ? text : text + "/" + path;
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
    failed_->message = named(path) + ": " + error.message;
    failed_->hint =
        "all other files are there; see what else is damaged: runnel volume fsck " + volume_.name();
    if (options_.passes_over) return {};
    failed_->hint = "see what else is damaged: runnel volume fsck " + volume_.name();
    return *failed_;
  }

  // Fetches what the files of the batch hold, and hands them over.
  Async<void> write_batch() {
    Batch batch = std::exchange(batch_, {});
    Chunks chunks = CO_TRY(co_await reader_.read(std::move(batch.extents)));
    std::vector<SinkEntry> whole;
    std::int64_t files = 0;
    for (BatchEntry& entry : batch.entries) {
      const Error* const error = first_error(chunks, entry.begin, entry.end);
      if (error != nullptr) {
        CO_TRY(pass_over(entry.path, *error));
        continue;
      }
      files += entry.node.kind == NodeKind::kFile ? 1 : 0;
      whole.push_back({std::move(entry.path), std::move(entry.node),
                       take_chunks(chunks, entry.begin, entry.end)});
    }
    CO_TRY(co_await sink_.take(std::move(whole)));
    done_.files += files;
    done_.bytes += static_cast<std::int64_t>(batch.bytes);
    if (options_.progress) options_.progress(done_);
    co_return {};
  }

  Volume& volume_;
  Snapshot& snapshot_;
  WalkedFolders walked_;
  TreeSink& sink_;
  GetOptions options_;
  const async::StopToken stop_;
  std::vector<std::string> root_;  // What is got.
  Batch batch_;
  ExtentReader reader_;
  std::optional<Error> failed_;  // The first file that could not be had.
  std::int64_t passed_over_ = 0;
  GetProgress done_;
};

Async<GetProgress> get_snapshot(async::EventLoop& loop, Volume& volume, Snapshot& snapshot,
                                std::string path, TreeSink& sink, GetOptions options,
                                async::StopToken stop) {
  Get get(loop, volume, snapshot, sink, std::move(options), std::move(stop));
  co_return co_await get.run(std::move(path));
}

Async<GetProgress> get_held(async::EventLoop& loop, Volume& volume, std::string version,
                            std::string path, TreeSink& sink, GetOptions options,
                            async::StopToken stop) {
  Snapshot snapshot =
      CO_TRY(co_await volume.begin_reading(volume.processes().this_one("get"), std::move(version)));
  GetProgress got = CO_TRY(co_await with_session<GetProgress>(
      loop, volume, [] { return std::set<std::string>(); },
      [&](async::StopToken token) {
        return get_snapshot(loop, volume, snapshot, std::move(path), sink, std::move(options),
                            std::move(token));
      },
      std::move(stop)));
  got.version = snapshot.manifest().version;
  co_return got;
}

}  // namespace

Async<GetProgress> get_into(async::EventLoop& loop, Volume& volume, std::string version,
                            std::string path, TreeSink& sink, GetOptions options,
                            async::StopToken stop) {
  Result<GetProgress> got = co_await get_held(loop, volume, std::move(version), std::move(path),
                                              sink, std::move(options), std::move(stop));
  const Result<void> closed = co_await sink.close();
  if (got.ok()) CO_TRY(Result<void>(closed));
  co_return got;
}

Async<GetProgress> get_tree(async::EventLoop& loop, Volume& volume, std::string version,
                            std::string path, std::string target, GetOptions options,
                            async::StopToken stop) {
  const auto same =
      options.keeps_same ? FolderSink::Same::kBySizeAndTime : FolderSink::Same::kNever;
  const auto sink = CO_TRY(FolderSink::open(loop, std::move(target), same));
  co_return co_await get_into(loop, volume, std::move(version), std::move(path), *sink,
                              std::move(options), std::move(stop));
}

}  // namespace runnel::volume
