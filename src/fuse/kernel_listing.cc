#include "fuse/kernel_listing.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include "base/check.h"

namespace runnel::fuse {
namespace {

constexpr Request kNoRequest = nullptr;  // libfuse looks at none to lay an entry out.

}  // namespace

bool KernelListing::add(const std::string& name, const fuse_entry_param& entry,
                        std::uint64_t place) {
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

bool KernelListing::add_dots(volume::Inode folder, std::uint64_t place) {
  fuse_entry_param entry{};  // Without an inode: the kernel knows these two.
  entry.attr.st_mode = S_IFDIR;
  entry.attr.st_ino = folder;
  if (place < 1 && !add(".", entry, 1)) return false;
  return place >= kDots || add("..", entry, kDots);
}

std::size_t KernelListing::most() const {
  constexpr std::size_t kEntry = 32;
  constexpr std::size_t kEntryWithAttributes = 160;
  return bytes_.size() / (attributes_ == Attributes::kYes ? kEntryWithAttributes : kEntry) + 1;
}

bool KernelListing::send(Request request) const {
  return request != nullptr && ::fuse_reply_buf(request, bytes_.data(), used_) == 0;
}

}  // namespace runnel::fuse
