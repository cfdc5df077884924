#include "env/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace runnel::env {

Result<DirectFile> DirectFile::open_with(const std::string& path, int flags) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  detail::Descriptor file(::open(path.c_str(), kFlags | flags | O_DIRECT, 0600));
  // A tmpfs of an older kernel has no way past the kernel's memory.
  if (!file.is_open() && errno == EINVAL) file.reset(::open(path.c_str(), kFlags | flags, 0600));
  if (!file.is_open()) return errno_error("open " + path, errno);
  return DirectFile(std::move(file), path);
}

Result<DirectFile> DirectFile::open(const std::string& path) { return open_with(path, 0); }

Result<DirectFile> DirectFile::create(const std::string& path) { return open_with(path, O_CREAT); }

Result<void> DirectFile::reserve(std::uint64_t size) {
  if (::fallocate(file_.number(), 0, 0, static_cast<off_t>(size)) == 0) return {};
  return errno_error("make room for " + path_, errno);
}

Result<void> DirectFile::read(std::uint64_t offset, std::span<char> into,
                              std::uint64_t least) const {
  std::uint64_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(file_.number(), into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read " + path_, errno);
    if (got == 0) break;
    done += static_cast<std::uint64_t>(got);
  }
  if (done >= least) return {};
  return Error(Errc::kCorrupt, path_ + " ends before its time").with_value(path_);
}

Result<void> DirectFile::write(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put =
        ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno_error("write " + path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

}  // namespace runnel::env
