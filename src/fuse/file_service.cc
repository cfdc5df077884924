#include "fuse/file_service.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace runnel::fuse {
namespace {

using volume::HeldBytes;
using volume::Inode;
using volume::Node;
using volume::NodeKind;
using volume::Snapshot;

constexpr double kForLong = 86'400;  // Seconds that the kernel may remember: nothing changes.
constexpr std::uint64_t kBlock = 512;
// What programs read by at once: Python takes a buffer of this size for each file that it opens.
constexpr blksize_t kReadAtOnce = 64 << 10;
constexpr std::uint64_t kDots = 2;  // "." and ".." come first in a list.

int number_of(const Error& error) {
  switch (error.code) {
    case Errc::kNotFound: return EIO;  // Of a path it is said otherwise; this is an object.
    case Errc::kDenied: return EACCES;
    case Errc::kInvalid: return EINVAL;
    default: return EIO;
  }
}

mode_t type_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kFolder: return S_IFDIR;
    case NodeKind::kLink: return S_IFLNK;
    case NodeKind::kFile: break;
  }
  return S_IFREG;
}

struct stat stat_of(Inode inode, const Node& node) {
  struct stat all{};
  all.st_ino = inode;
  all.st_mode = type_of(node.kind) | given_mode(node);
  // Of a folder the count would be of the folders in it; who sees 1 counts on nothing.
  all.st_nlink = node.kind == NodeKind::kFolder ? 1 : node.links;
  all.st_uid = node.owner.value_or(::getuid());
  all.st_gid = node.group.value_or(::getgid());
  const bool is_link = node.kind == NodeKind::kLink;
  all.st_size = static_cast<off_t>(is_link ? node.target.size() : node.size);
  all.st_blocks = static_cast<blkcnt_t>((node.size + kBlock - 1) / kBlock);
  all.st_blksize = kReadAtOnce;
  all.st_mtim = {static_cast<time_t>(node.changed), static_cast<long>(node.changed_nanos)};
  all.st_atim = all.st_mtim;
  all.st_ctim = all.st_mtim;
  return all;
}

fuse_entry_param entry_of(Inode inode, const Node& node) {
  fuse_entry_param entry{};
  entry.ino = inode;
  entry.attr = stat_of(inode, node);
  entry.attr_timeout = kForLong;
  entry.entry_timeout = kForLong;
  return entry;
}

}  // namespace

// Entries for the kernel, as many as fit.
class FileService::Listing {
 public:
  Listing(std::size_t size, Attributes attributes) : bytes_(size), attributes_(attributes) {}

  // False when it does not fit. `place`: where a list goes on behind it.
  bool add(const std::string& name, const fuse_entry_param& entry, std::uint64_t place) {
    CHECK(used_ <= bytes_.size(), "a list is longer than its place");
    char* const at = bytes_.data() + used_;
    const std::size_t room = bytes_.size() - used_;
    const auto next = static_cast<off_t>(place);
    const std::size_t size =
        attributes_ == Attributes::kYes
            ? ::fuse_add_direntry_plus(kNoRequest, at, room, name.c_str(), &entry, next)
            : ::fuse_add_direntry(kNoRequest, at, room, name.c_str(), &entry.attr, next);
    if (size > room) return false;
    used_ += size;
    return true;
  }
  bool add_dots(Inode folder, std::uint64_t place) {
    fuse_entry_param entry{};  // Without an inode: the kernel knows these two.
    entry.attr.st_mode = S_IFDIR;
    entry.attr.st_ino = folder;
    if (place < 1 && !add(".", entry, 1)) return false;
    return place >= kDots || add("..", entry, kDots);
  }
  // About as many of them fit: the least that each takes.
  std::size_t most() const {
    constexpr std::size_t kEntry = 32;
    constexpr std::size_t kEntryWithAttributes = 160;
    return bytes_.size() / (attributes_ == Attributes::kYes ? kEntryWithAttributes : kEntry) + 1;
  }
  void send(Request request) const {
    if (request != nullptr) ::fuse_reply_buf(request, bytes_.data(), used_);
  }

 private:
  static constexpr Request kNoRequest = nullptr;  // libfuse looks at none to lay an entry out.

  std::vector<char> bytes_;
  std::size_t used_ = 0;
  Attributes attributes_;
};

FileService::FileService(async::EventLoop& loop, Snapshot& snapshot, volume::PackCache& cache,
                         ErrorNotices& notices)
    : loop_(loop),
      snapshot_(snapshot),
      files_(snapshot, cache),
      folders_(snapshot),
      notices_(notices),
      waiting_(loop),
      answering_(loop) {}

Async<void> FileService::close() {
  CO_TRY(co_await answering_.close());
  co_return co_await waiting_.close();
}

void FileService::answer(const Waiting& waiting, Async<void> work) {
  const Result<void> begun = loop_.spawn(answering_, answer_or_fail(waiting, std::move(work)));
  if (begun.ok()) return;
  if (const Request request = waiting->take()) ::fuse_reply_err(request, ENOTCONN);
}

// The work answers, or fails before it has answered.
Async<void> FileService::answer_or_fail(Waiting waiting, Async<void> work) {
  const Result<void> done = co_await std::move(work);
  const Request request = waiting->take();
  if (request == nullptr) co_return {};
  // What was stopped is left to the next server, which is asked again.
  if (!done.ok() && done.error().code == Errc::kCancelled) {
    ::fuse_req_interrupt_func(request, nullptr, nullptr);
    co_return {};
  }
  CHECK(!done.ok(), "a request was not answered");
  notices_.tell(done.error());  // Before its reader can end of it.
  ::fuse_reply_err(request, number_of(done.error()));
  co_return {};
}

// --- Names and attributes.

void FileService::look_up(Request request, Inode folder, const std::string& name) {
  const Waiting waiting = waiting_.add(request);
  answer(waiting, answer_look_up(waiting, folder, name));
}

Async<void> FileService::answer_look_up(Waiting waiting, Inode folder, std::string name) {
  const std::optional<volume::Name> found =
      CO_TRY(co_await snapshot_.look_up(folder, std::move(name)));
  fuse_entry_param entry{};  // Without an inode: there is no such name, which is remembered, too.
  entry.entry_timeout = kForLong;
  if (found) {
    const Node node = CO_TRY(co_await snapshot_.node(found->inode));
    entry = entry_of(found->inode, node);
  }
  if (const Request request = waiting->take()) ::fuse_reply_entry(request, &entry);
  co_return {};
}

void FileService::attributes(Request request, Inode inode) {
  const Waiting waiting = waiting_.add(request);
  answer(waiting, answer_attributes(waiting, inode));
}

Async<void> FileService::answer_attributes(Waiting waiting, Inode inode) {
  const Node node = CO_TRY(co_await snapshot_.node(inode));
  const struct stat all = stat_of(inode, node);
  if (const Request request = waiting->take()) ::fuse_reply_attr(request, &all, kForLong);
  co_return {};
}

void FileService::read_link(Request request, Inode inode) {
  const Waiting waiting = waiting_.add(request);
  answer(waiting, answer_read_link(waiting, inode));
}

Async<void> FileService::answer_read_link(Waiting waiting, Inode inode) {
  const Node node = CO_TRY(co_await snapshot_.node(inode));
  if (const Request request = waiting->take()) ::fuse_reply_readlink(request, node.target.c_str());
  co_return {};
}

void FileService::totals(Request request) {
  constexpr std::uint64_t kTotalsBlock = 4'096;
  const volume::Totals& counts = snapshot_.manifest().totals;
  struct statvfs all{};
  all.f_bsize = kTotalsBlock;
  all.f_frsize = kTotalsBlock;
  all.f_blocks = (static_cast<std::uint64_t>(counts.bytes) + kTotalsBlock - 1) / kTotalsBlock;
  all.f_files = static_cast<fsfilcnt_t>(counts.files + counts.folders + counts.links);
  all.f_namemax = 255;
  ::fuse_reply_statfs(request, &all);
}

// --- Bytes.

namespace {

// The kernel takes IOV_MAX pieces at once, one of them libfuse's own. Chunks are longer than would
// make more, but somebody else's index may say anything.
std::vector<HeldBytes> few(std::vector<HeldBytes> pieces) {
  if (pieces.size() < IOV_MAX) return pieces;
  std::string whole;
  for (const HeldBytes& piece : pieces) whole += piece.bytes;
  std::vector<HeldBytes> one;
  one.push_back(HeldBytes::of(std::move(whole)));
  return one;
}

}  // namespace

void FileService::read(Request request, Inode file, std::uint64_t offset, std::uint64_t length) {
  const Waiting waiting = waiting_.add(request);
  answer(waiting, answer_read(waiting, file, offset, length));
}

Async<void> FileService::answer_read(Waiting waiting, Inode file, std::uint64_t offset,
                                     std::uint64_t length) {
  const std::vector<HeldBytes> pieces = few(CO_TRY(co_await files_.read(file, offset, length)));
  std::vector<iovec> all;
  all.reserve(pieces.size());
  for (const HeldBytes& piece : pieces) {
    all.push_back({const_cast<char*>(piece.bytes.data()), piece.bytes.size()});
  }
  if (const Request request = waiting->take()) {
    ::fuse_reply_iov(request, all.data(), static_cast<int>(all.size()));
  }
  co_return {};
}

// --- Folders.

void FileService::list(Request request, Inode folder, std::uint64_t place, std::size_t size,
                       Attributes attributes) {
  const Waiting waiting = waiting_.add(request);
  answer(waiting, answer_list(waiting, folder, place, size, attributes));
}

Async<void> FileService::answer_list(Waiting waiting, Inode folder, std::uint64_t place,
                                     std::size_t size, Attributes attributes) {
  Listing listing(size, attributes);
  if (!listing.add_dots(folder, place)) {
    listing.send(waiting->take());
    co_return {};
  }
  const std::uint64_t first = place > kDots ? place - kDots : 0;
  std::uint64_t number = first;
  const std::vector<Snapshot::Entry> entries =
      CO_TRY(co_await folders_.list(folder, first, listing.most()));
  for (const Snapshot::Entry& each : entries) {
    fuse_entry_param entry{};
    entry.attr.st_ino = each.what.inode;
    entry.attr.st_mode = type_of(each.what.kind);
    if (attributes == Attributes::kYes) {
      // One whose record is damaged has a name all the same; who asks for it gets the error.
      const Result<Node> node = co_await snapshot_.node(each.what.inode);
      if (node.ok()) entry = entry_of(each.what.inode, *node);
    }
    if (!listing.add(each.name, entry, number + 1 + kDots)) break;
    ++number;
  }
  if (number > first) folders_.remember(folder, number, entries[number - first - 1].name);
  listing.send(waiting->take());
  co_return {};
}

}  // namespace runnel::fuse
