#include "volume/tar_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "async/unique_fd.h"
#include "volume/libarchive.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kInputBytes = 1 << 20;
constexpr std::size_t kBlockOfTar = 512;
constexpr int kInputOfProcess = 0;

std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : text; }

TarEntry::Kind kind_of(archive_entry* entry) {
  if (libarchive().entry_hardlink(entry) != nullptr) return TarEntry::Kind::kHardLink;
  switch (libarchive().entry_filetype(entry)) {
    case AE_IFREG: return TarEntry::Kind::kFile;
    case AE_IFDIR: return TarEntry::Kind::kFolder;
    case AE_IFLNK: return TarEntry::Kind::kLink;
    default: return TarEntry::Kind::kOther;
  }
}

TarEntry entry_of(archive_entry* entry) {
  TarEntry made;
  made.path = text_or_empty(libarchive().entry_pathname(entry));
  made.kind = kind_of(entry);
  if (made.kind == TarEntry::Kind::kLink)
    made.target = text_or_empty(libarchive().entry_symlink(entry));
  if (made.kind == TarEntry::Kind::kHardLink) {
    made.target = text_or_empty(libarchive().entry_hardlink(entry));
  }
  made.mode = libarchive().entry_perm(entry) & 07777U;
  made.changed = libarchive().entry_mtime(entry);
  made.changed_nanos = static_cast<std::uint32_t>(libarchive().entry_mtime_nsec(entry));
  if (made.kind == TarEntry::Kind::kFile) {
    made.size =
        static_cast<std::uint64_t>(std::max<std::int64_t>(libarchive().entry_size(entry), 0));
  }
  return made;
}

}  // namespace

struct TarReader::Impl {
  ~Impl() { (void)libarchive().read_free(tar); }

  // libarchive takes a tar without its last blocks for a whole one: it may be cut between entries.
  bool is_cut() const {
    const bool is_plain = libarchive().filter_count(tar) == 1;
    const bool ends_in_zeros =
        last.size() == kBlockOfTar && last.find_first_not_of('\0') == std::string::npos;
    return is_plain && at_end && !ends_in_zeros;
  }
  void remember_last(std::size_t size) {
    last.append(buffer, 0, size);
    if (last.size() > kBlockOfTar) last.erase(0, last.size() - kBlockOfTar);
  }
  Error damaged(const std::string& why) const {
    if (read_error) return *read_error;
    return Error(Errc::kCorrupt, name + " is no tar, or is damaged or cut: " + why)
        .with_value(name)
        .with_hint("nothing of it was taken; get it anew");
  }
  Error damaged() const { return damaged(text_or_empty(libarchive().error_string(tar))); }

  static la_ssize_t read_some(archive*, void* self, const void** bytes) {
    Impl& reader = *static_cast<Impl*>(self);
    ssize_t size = 0;
    do {
      size = ::read(reader.input, reader.buffer.data(), reader.buffer.size());
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
      reader.read_error = errno_error("read " + reader.name, errno);
      return ARCHIVE_FATAL;
    }
    reader.at_end = size == 0;
    reader.remember_last(static_cast<std::size_t>(size));
    *bytes = reader.buffer.data();
    return size;
  }

  // Of the entry: none at its end, where a hole may be left.
  Result<void> next_block() {
    const void* begin = nullptr;
    std::size_t length = 0;
    la_int64_t offset = 0;
    do {
      const int code = libarchive().read_data_block(tar, &begin, &length, &offset);
      if (code == ARCHIVE_EOF) {
        block_at = std::max(at, length_of_entry);
        return {};
      }
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return damaged();
    } while (length == 0);
    if (offset < 0 || static_cast<std::uint64_t>(offset) < at) return damaged("a part comes twice");
    block = {static_cast<const char*>(begin), length};
    block_at = static_cast<std::uint64_t>(offset);
    return {};
  }

  std::string name;
  async::UniqueFd file;  // Unless it is stdin.
  int input = kInputOfProcess;
  std::string buffer = std::string(kInputBytes, '\0');
  std::string last;     // The last bytes of what was read.
  bool at_end = false;  // There is nothing behind them.
  std::optional<Error> read_error;
  archive* tar = libarchive().read_new();
  // Of the entry.
  std::uint64_t length_of_entry = 0;
  std::uint64_t at = 0;        // What was read of it.
  std::string_view block;      // The rest of what libarchive holds of it,
  std::uint64_t block_at = 0;  // and its place in the file.
};

TarReader::TarReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TarReader::~TarReader() = default;

const std::string& TarReader::name() const { return impl_->name; }

Result<std::unique_ptr<TarReader>> TarReader::open(const std::string& path) {
  TRY(load_libarchive());
  auto impl = std::make_unique<Impl>();
  impl->name = path == "-" ? "stdin" : path;
  if (path != "-") {
    impl->file = async::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!impl->file.valid()) return errno_error("open " + path, errno);
    impl->input = impl->file.get();
  }
  archive* const tar = impl->tar;
  const bool is_set = libarchive().read_support_format_tar(tar) == ARCHIVE_OK &&
                      libarchive().read_support_filter_gzip(tar) == ARCHIVE_OK &&
                      libarchive().read_support_filter_zstd(tar) == ARCHIVE_OK &&
                      libarchive().read_support_filter_bzip2(tar) == ARCHIVE_OK &&
                      libarchive().read_support_filter_xz(tar) == ARCHIVE_OK;
  if (!is_set) return Error(Errc::kInternal, "libarchive lacks a filter: " + impl->name);
  if (libarchive().read_open(tar, impl.get(), nullptr, Impl::read_some, nullptr) != ARCHIVE_OK) {
    return impl->damaged();
  }
  return std::unique_ptr<TarReader>(new TarReader(std::move(impl)));
}

Result<std::optional<TarEntry>> TarReader::next() {
  archive_entry* entry = nullptr;
  const int code = libarchive().read_next_header(impl_->tar, &entry);
  if (code == ARCHIVE_EOF) {
    if (impl_->is_cut()) return impl_->damaged("its end is missing");
    return std::optional<TarEntry>();
  }
  // A warning is of what a volume does not keep, or of a name that is not UTF-8.
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return impl_->damaged();
  TarEntry found = entry_of(entry);
  impl_->block = {};
  impl_->at = impl_->block_at = 0;
  impl_->length_of_entry = found.kind == TarEntry::Kind::kFile ? found.size : 0;
  return std::optional(std::move(found));
}

// libarchive tells where in the file each block belongs: what is between them is a hole.
Result<ReadPiece> TarReader::read(std::string& bytes, std::size_t most) {
  Impl& reader = *impl_;
  if (reader.block.empty()) TRY(reader.next_block());
  if (reader.at < reader.block_at) {
    const std::uint64_t zeros = reader.block_at - std::exchange(reader.at, reader.block_at);
    return ReadPiece{.zeros = zeros};
  }
  const std::string_view some = reader.block.substr(0, most);
  bytes += some;
  reader.block.remove_prefix(some.size());
  reader.at += some.size();
  reader.block_at = reader.at;
  return ReadPiece{.bytes = some.size()};
}

}  // namespace runnel::volume
