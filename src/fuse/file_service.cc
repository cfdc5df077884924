#include "fuse/file_service.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include <climits>
#include <utility>
#include <vector>

#include "fuse/kernel_node.h"

namespace runnel::fuse {
namespace {

using volume::HeldBytes;
using volume::Inode;
using volume::Node;
using volume::Snapshot;

// A version may be somebody else's: nothing in it is set-user-ID.
writing::FileAttributes shown(const Node& node) {
  writing::FileAttributes all = writing::attributes_of(node);
  all.mode = volume::given_mode(node);
  return all;
}

}  // namespace

FileService::FileService(async::EventLoop& loop, Snapshot& snapshot, volume::PackCache& cache,
                         ErrorNotices& notices)
    : snapshot_(snapshot), files_(snapshot, cache), folders_(snapshot), answers_(loop, notices) {}

// --- Names and attributes.

void FileService::look_up(Request request, Inode folder, const std::string& name) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_look_up(waiting, folder, name));
}

Async<void> FileService::answer_look_up(Waiting waiting, Inode folder, std::string name) {
  const std::optional<volume::Name> found =
      CO_TRY(co_await snapshot_.look_up(folder, std::move(name)));
  fuse_entry_param entry = no_entry();
  if (found) {
    const Node node = CO_TRY(co_await snapshot_.node(found->inode));
    entry = entry_of(found->inode, shown(node));
  }
  if (const Request request = waiting->take()) ::fuse_reply_entry(request, &entry);
  co_return {};
}

void FileService::attributes(Request request, Inode inode) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_attributes(waiting, inode));
}

Async<void> FileService::answer_attributes(Waiting waiting, Inode inode) {
  const Node node = CO_TRY(co_await snapshot_.node(inode));
  const struct stat all = stat_of(inode, shown(node));
  if (const Request request = waiting->take()) ::fuse_reply_attr(request, &all, kForLong);
  co_return {};
}

void FileService::read_link(Request request, Inode inode) {
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_read_link(waiting, inode));
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
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_read(waiting, file, offset, length));
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
  const Waiting waiting = answers_.add(request);
  answers_.begin(waiting, answer_list(waiting, folder, place, size, attributes));
}

Async<void> FileService::answer_list(Waiting waiting, Inode folder, std::uint64_t place,
                                     std::size_t size, Attributes attributes) {
  KernelListing listing(size, attributes);
  if (!listing.add_dots(folder, place)) {
    listing.send(waiting->take());
    co_return {};
  }
  constexpr std::uint64_t kDots = KernelListing::kDots;
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
      if (node.ok()) entry = entry_of(each.what.inode, shown(*node));
    }
    if (!listing.add(each.name, entry, number + 1 + kDots)) break;
    ++number;
  }
  if (number > first) folders_.remember(folder, number, entries[number - first - 1].name);
  listing.send(waiting->take());
  co_return {};
}

}  // namespace runnel::fuse
