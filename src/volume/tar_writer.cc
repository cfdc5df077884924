#include "volume/tar_writer.h"

#include <locale.h>

#include <utility>

#include "volume/libarchive.h"

namespace runnel::volume {
namespace {

constexpr int kOutputBytes = 1 << 20;

// Names that are UTF-8 are written as such; in the locale of C all but ASCII would be marked as
// binary, which other readers warn of.
class Utf8Here {
 public:
  Utf8Here() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = ::uselocale(utf8_);
  }
  ~Utf8Here() {
    if (utf8_ == nullptr) return;
    (void)::uselocale(before_);
    ::freelocale(utf8_);
  }
  Utf8Here(const Utf8Here&) = delete;
  Utf8Here& operator=(const Utf8Here&) = delete;

 private:
  locale_t utf8_;
  locale_t before_ = nullptr;
};

unsigned type_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kFile: return AE_IFREG;
    case NodeKind::kFolder: return AE_IFDIR;
    case NodeKind::kLink: return AE_IFLNK;
  }
  return AE_IFREG;
}

void fill_entry(archive_entry* entry, const std::string& path, const Node& node) {
  libarchive().entry_copy_pathname(entry, path.c_str());
  libarchive().entry_set_filetype(entry, type_of(node.kind));
  libarchive().entry_set_perm(entry, node.mode);
  libarchive().entry_set_mtime(entry, node.changed, static_cast<long>(node.changed_nanos));
  libarchive().entry_set_uid(entry, node.owner.value_or(0));
  libarchive().entry_set_gid(entry, node.group.value_or(0));
  const bool has_bytes = node.kind == NodeKind::kFile;
  libarchive().entry_set_size(entry, has_bytes ? static_cast<la_int64_t>(node.size) : 0);
  if (node.kind == NodeKind::kLink) libarchive().entry_copy_symlink(entry, node.target.c_str());
}

}  // namespace

struct TarWriter::Impl {
  ~Impl() {
    // Without finish() its end would make what is cut look whole.
    drops = true;
    (void)libarchive().write_free(tar);
    libarchive().entry_free(entry);
  }

  Error failed() const {
    const char* const why = libarchive().error_string(tar);
    return Error(Errc::kIo, std::string("the tar cannot be written: ") + (why ? why : "?"));
  }
  // It leaks its buffer when its output fails, so it is not told; check() is, at once.
  static la_ssize_t write_some(archive*, void* self, const void* bytes, std::size_t size) {
    Impl& writer = *static_cast<Impl*>(self);
    if (!writer.drops && writer.written.ok()) {
      writer.written = writer.output({static_cast<const char*>(bytes), size});
    }
    return static_cast<la_ssize_t>(size);
  }
  Result<void> check(bool is_done) const { return is_done ? written : failed(); }

  Output output;
  Result<void> written;  // By the output.
  bool drops = false;    // The output gets no more.
  archive* tar = libarchive().write_new();
  archive_entry* entry = libarchive().entry_new();
};

TarWriter::TarWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TarWriter::~TarWriter() = default;

Result<std::unique_ptr<TarWriter>> TarWriter::open(Output output) {
  TRY(load_libarchive());
  auto impl = std::make_unique<Impl>();
  impl->output = std::move(output);
  archive* const tar = impl->tar;
  const bool is_open =
      libarchive().write_set_format_pax(tar) == ARCHIVE_OK &&
      libarchive().write_set_bytes_per_block(tar, kOutputBytes) == ARCHIVE_OK &&
      libarchive().write_set_bytes_in_last_block(tar, 1) == ARCHIVE_OK &&
      libarchive().write_open(tar, impl.get(), nullptr, Impl::write_some, nullptr) == ARCHIVE_OK;
  if (!is_open) return impl->failed();
  return std::unique_ptr<TarWriter>(new TarWriter(std::move(impl)));
}

Result<void> TarWriter::begin(const std::string& path, const Node& node) {
  const Utf8Here utf8;
  libarchive().entry_clear(impl_->entry);
  fill_entry(impl_->entry, path, node);
  const int code = libarchive().write_header(impl_->tar, impl_->entry);
  // A warning: a name that is not UTF-8, which is marked as binary.
  return impl_->check(code == ARCHIVE_OK || code == ARCHIVE_WARN);
}

Result<void> TarWriter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const la_ssize_t size = libarchive().write_data(impl_->tar, bytes.data(), bytes.size());
    TRY(impl_->check(size > 0));
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

Result<void> TarWriter::finish() {
  return impl_->check(libarchive().write_close(impl_->tar) == ARCHIVE_OK);
}

}  // namespace runnel::volume
