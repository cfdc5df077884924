#include "volume/source_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "async/unique_fd.h"
#include "base/check.h"
#include "env/files.h"
#include "volume/chunker.h"
#include "volume/extent.h"
#include "volume/file_cutter.h"
#include "volume/folder_root.h"
#include "volume/snapshot.h"
#include "volume/target_tree.h"

namespace runnel::volume {
namespace {

using async::UniqueFd;

constexpr int kReadAgainMax = 3;
constexpr std::size_t kReadBytes = 4 << 20;

Error changes(const std::string& path) {
  return Error(Errc::kConflict, path + " changes while it is read")
      .with_value(path)
      .with_hint("put it again when nobody writes it");
}

Error cannot_be_put(const std::string& path, const Error& why) {
  return Error(Errc::kInvalid, path + " cannot be put: " + why.message)
      .with_value(path)
      .with_hint("nothing of it was taken; put what is beside it");
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_size == other.st_size && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
         one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

Node node_of(const struct stat& info, NodeKind kind) {
  Node node;
  node.kind = kind;
  node.mode = kind == NodeKind::kLink ? 0777U : info.st_mode & 07777U;
  node.changed = info.st_mtim.tv_sec;
  node.changed_nanos = static_cast<std::uint32_t>(info.st_mtim.tv_nsec);
  node.mode = given_mode(node);
  return node;
}

// An open file of the source.
class SourceFile {
 public:
  static Result<SourceFile> open(const FolderRoot& root, const std::string& below) {
    SourceFile file;
    file.path_ = root.place(below);
    file.file_ = TRY(root.open_below(below, O_RDONLY | O_NONBLOCK));
    file.begin_ = TRY(file.info());
    if (!S_ISREG(file.begin_.st_mode)) {
      return Error(Errc::kInvalid, file.path_ + " is no regular file");
    }
    return file;
  }

  const struct stat& begin() const { return begin_; }
  Result<bool> has_changed() const { return !is_same(begin_, TRY(info())); }
  // Appends up to `most` bytes; none at the end.
  Result<std::size_t> read(std::string& bytes, std::size_t most) {
    const std::size_t before = bytes.size();
    bytes.resize(before + most);
    ssize_t size = 0;
    do {
      size = ::pread(file_.get(), bytes.data() + before, most, at_);
    } while (size < 0 && errno == EINTR);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (size < 0) return errno_error("read " + path_, errno);
    at_ += size;
    return static_cast<std::size_t>(size);
  }
  // As read(), or passes over the hole that comes next.
  Result<ReadPiece> read_piece(std::string& bytes, std::size_t most) {
    if (at_ >= data_end_) {
      const off_t zeros = TRY(hole_here());
      at_ += zeros;
      if (zeros > 0) return ReadPiece{.zeros = static_cast<std::uint64_t>(zeros)};
    }
    const auto some = std::min<off_t>(data_end_ - at_, static_cast<off_t>(most));
    return ReadPiece{.bytes = TRY(read(bytes, static_cast<std::size_t>(some)))};
  }
  const std::string& path() const { return path_; }

 private:
  Result<struct stat> info() const {
    struct stat now = {};
    if (::fstat(file_.get(), &now) != 0) return errno_error("look at " + path_, errno);
    return now;
  }

  // The length of the hole that is next, zero of a small one, whose zeros are read; and sets how
  // far there is nothing else to pass over.
  Result<off_t> hole_here() {
    const off_t data = ::lseek(file_.get(), at_, SEEK_DATA);
    const bool is_last = data < 0 && errno == ENXIO;
    const off_t hole = data < 0 ? -1 : ::lseek(file_.get(), data, SEEK_HOLE);
    data_end_ = hole < 0 ? kEverything : hole;
    if (data < 0 && !is_last) return 0;  // A file system that tells of none.
    const off_t zeros = (is_last ? TRY(info()).st_size : data) - at_;
    return zeros < static_cast<off_t>(kHoleLeast) ? 0 : zeros;
  }

  static constexpr off_t kEverything = std::numeric_limits<off_t>::max();

  std::string path_;
  UniqueFd file_;
  struct stat begin_ = {};
  off_t at_ = 0;
  off_t data_end_ = 0;  // Up to there everything is read.
};

// A file that is read part by part.
struct LongFile {
  SourceFile file;
  std::vector<std::string> path;
  FileCutter cutter;
  bool is_begun = false;
};

class FolderSource final : public SourceTree {
 public:
  FolderSource(FolderRoot root, Node node) : root_(std::move(root)), node_(std::move(node)) {}
  // One file in the folder.
  FolderSource(FolderRoot root, std::string only, std::string name)
      : root_(std::move(root)), only_(std::move(only)), name_(std::move(name)) {}

  Result<ReadBatch> next() override {
    ReadBatch batch;
    if (!began_) TRY(begin());
    while (batch.bytes.size() < kBatchBytes && batch.entries.size() < kBatchEntries) {
      if (long_) {
        TRY(read_more(batch));
        continue;
      }
      if (!TRY(take_next(batch))) {
        batch.is_last = true;
        break;
      }
    }
    return batch;
  }
  const std::vector<std::string>& passed_over() const override { return passed_over_; }
  std::optional<Node> root() const override { return node_; }

 private:
  // A folder whose names are not all read yet.
  struct Level {
    std::vector<std::string> names;
    std::size_t next = 0;
  };

  Result<void> begin() {
    began_ = true;
    if (only_) {
      levels_.push_back({{*only_}, 0});
      return {};
    }
    levels_.push_back({TRY(root_.names("")), 0});
    return {};
  }

  // False when there is nothing more.
  Result<bool> take_next(ReadBatch& batch) {
    while (!levels_.empty() && levels_.back().next == levels_.back().names.size()) {
      levels_.pop_back();
      if (!path_.empty()) path_.pop_back();
    }
    if (levels_.empty()) return false;
    path_.push_back(levels_.back().names[levels_.back().next++]);
    const bool enters = TRY(take(batch));
    if (!enters) path_.pop_back();
    return true;
  }

  // Whether it is a folder, whose entries come next. What was removed meanwhile is passed over.
  Result<bool> take(ReadBatch& batch) {
    const std::string file = path_text(path_);
    const Result<struct stat> info = root_.look(file);
    if (!info.ok() && info.error().code == Errc::kNotFound) return false;
    TRY(Result<struct stat>(info));
    if (S_ISDIR(info->st_mode)) return enter(batch, file, *info);
    const bool is_left = !only_ && is_unfinished_name(path_.back());
    if (!is_left && S_ISREG(info->st_mode)) {
      TRY(read_file(batch, file));
    } else if (!is_left && S_ISLNK(info->st_mode)) {
      TRY(read_link(batch, file, *info));
    } else {
      passed_over_.push_back(root_.place(file));
    }
    return false;
  }

  Result<bool> enter(ReadBatch& batch, const std::string& folder, const struct stat& info) {
    levels_.push_back({TRY(root_.names(folder)), 0});
    batch.entries.push_back({path_, node_of(info, NodeKind::kFolder), {}, {}});
    return true;
  }

  Result<void> read_link(ReadBatch& batch, const std::string& file, const struct stat& info) {
    Node node = node_of(info, NodeKind::kLink);
    node.target = TRY(root_.target_of(file));
    batch.entries.push_back({path_, std::move(node), {}, {}});
    return {};
  }

  Result<void> read_file(ReadBatch& batch, const std::string& file) {
    for (int tries = 0; tries < kReadAgainMax; ++tries) {
      SourceFile opened = TRY(SourceFile::open(root_, file));
      if (opened.begin().st_size > static_cast<off_t>(kWholeFileMax)) {
        long_.emplace(LongFile{std::move(opened), named_path(), {}, false});
        return {};
      }
      const std::size_t begin = batch.bytes.size();
      const bool is_whole = TRY(read_short(batch, opened));
      if (is_whole && !TRY(opened.has_changed())) {
        add_short(batch, opened, begin);
        return {};
      }
      batch.bytes.resize(begin);
    }
    return changes(root_.place(file));
  }

  // What it is to be called: the one file of a source may have a name of its own.
  std::vector<std::string> named_path() const {
    return only_ && !name_.empty() ? std::vector<std::string>{name_} : path_;
  }

  // Whether the file is as long as it was when it was opened.
  static Result<bool> read_short(ReadBatch& batch, SourceFile& file) {
    const auto expected = static_cast<std::size_t>(file.begin().st_size);
    std::size_t total = 0;
    while (total <= expected) {
      const std::size_t some = TRY(file.read(batch.bytes, expected + 1 - total));
      if (some == 0) break;
      total += some;
    }
    return total == expected;
  }

  void add_short(ReadBatch& batch, const SourceFile& file, std::size_t begin) {
    ReadEntry entry{named_path(), node_of(file.begin(), NodeKind::kFile), {}, {}};
    const std::string_view bytes = std::string_view(batch.bytes).substr(begin);
    entry.node.size = bytes.size();
    entry.node.hash = hash::sha256(bytes);
    if (!bytes.empty()) entry.chunks.push_back({entry.node.hash, begin, bytes.size()});
    batch.entries.push_back(std::move(entry));
  }

  // The next part of the long file, as far as the batch has room.
  Result<void> read_more(ReadBatch& batch) {
    LongFile& file = *long_;
    ReadEntry entry{file.path, node_of(file.file.begin(), NodeKind::kFile), {}, {}};
    entry.is_first = !std::exchange(file.is_begun, true);
    Result<bool> is_whole = file.cutter.fill(batch, entry, [&file](std::string& bytes) {
      return file.file.read_piece(bytes, kReadBytes);
    });
    if (!is_whole.ok() && is_whole.error().code == Errc::kInvalid) {
      return cannot_be_put(file.file.path(), is_whole.error());
    }
    entry.is_whole = TRY(std::move(is_whole));
    if (entry.is_whole) TRY(end_long(entry));
    batch.entries.push_back(std::move(entry));
    return {};
  }

  Result<void> end_long(ReadEntry& entry) {
    LongFile file = *std::exchange(long_, std::nullopt);
    if (TRY(file.file.has_changed())) return changes(file.file.path());
    file.cutter.finish(entry.node);
    return {};
  }

  FolderRoot root_;
  const std::optional<Node> node_;
  const std::optional<std::string> only_;
  const std::string name_;
  bool began_ = false;
  std::vector<Level> levels_;
  std::vector<std::string> path_;
  std::optional<LongFile> long_;
  std::vector<std::string> passed_over_;
};

}  // namespace

Result<std::unique_ptr<SourceTree>> SourceTree::open(const std::string& path, std::string name) {
  const std::string place = TRY(env::real_path(path));
  const auto [folder, only] = FolderRoot::split(place);
  FolderRoot around = TRY(FolderRoot::open(folder, true));
  const struct stat info = TRY(around.look(only));
  if (S_ISDIR(info.st_mode)) {
    Node node = node_of(info, NodeKind::kFolder);
    FolderRoot root = TRY(FolderRoot::open(place, true));
    return std::unique_ptr<SourceTree>(
        std::make_unique<FolderSource>(std::move(root), std::move(node)));
  }
  if (!S_ISREG(info.st_mode)) {
    return Error(Errc::kInvalid, path + " is neither a file nor a folder").with_value(path);
  }
  return std::unique_ptr<SourceTree>(
      std::make_unique<FolderSource>(std::move(around), only, std::move(name)));
}

}  // namespace runnel::volume
