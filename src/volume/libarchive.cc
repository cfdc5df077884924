#include "volume/libarchive.h"

#include "env/dynamic_library.h"

namespace runnel::volume {
namespace {

constexpr const char* kLibrary = "libarchive.so.13";

Result<env::DynamicLibrary> open_library() {
  Result<env::DynamicLibrary> library = env::DynamicLibrary::open(kLibrary);
  if (library.ok()) return library;
  return Error(Errc::kUnsupported, library.error().message)
      .with_value(kLibrary)
      .with_hint("install libarchive 3.6 or later: tars are read and written with it");
}

Result<Libarchive> load() {
  const env::DynamicLibrary library = TRY(open_library());
  Libarchive archive;
  TRY(library.find("archive_entry_clear", archive.entry_clear));
  TRY(library.find("archive_entry_copy_pathname", archive.entry_copy_pathname));
  TRY(library.find("archive_entry_copy_symlink", archive.entry_copy_symlink));
  TRY(library.find("archive_entry_filetype", archive.entry_filetype));
  TRY(library.find("archive_entry_free", archive.entry_free));
  TRY(library.find("archive_entry_hardlink", archive.entry_hardlink));
  TRY(library.find("archive_entry_mtime", archive.entry_mtime));
  TRY(library.find("archive_entry_mtime_nsec", archive.entry_mtime_nsec));
  TRY(library.find("archive_entry_new", archive.entry_new));
  TRY(library.find("archive_entry_pathname", archive.entry_pathname));
  TRY(library.find("archive_entry_perm", archive.entry_perm));
  TRY(library.find("archive_entry_set_filetype", archive.entry_set_filetype));
  TRY(library.find("archive_entry_set_gid", archive.entry_set_gid));
  TRY(library.find("archive_entry_set_mtime", archive.entry_set_mtime));
  TRY(library.find("archive_entry_set_perm", archive.entry_set_perm));
  TRY(library.find("archive_entry_set_size", archive.entry_set_size));
  TRY(library.find("archive_entry_set_uid", archive.entry_set_uid));
  TRY(library.find("archive_entry_size", archive.entry_size));
  TRY(library.find("archive_entry_symlink", archive.entry_symlink));
  TRY(library.find("archive_error_string", archive.error_string));
  TRY(library.find("archive_filter_count", archive.filter_count));
  TRY(library.find("archive_read_data_block", archive.read_data_block));
  TRY(library.find("archive_read_free", archive.read_free));
  TRY(library.find("archive_read_new", archive.read_new));
  TRY(library.find("archive_read_next_header", archive.read_next_header));
  TRY(library.find("archive_read_open", archive.read_open));
  TRY(library.find("archive_read_support_filter_bzip2", archive.read_support_filter_bzip2));
  TRY(library.find("archive_read_support_filter_gzip", archive.read_support_filter_gzip));
  TRY(library.find("archive_read_support_filter_xz", archive.read_support_filter_xz));
  TRY(library.find("archive_read_support_filter_zstd", archive.read_support_filter_zstd));
  TRY(library.find("archive_read_support_format_tar", archive.read_support_format_tar));
  TRY(library.find("archive_write_close", archive.write_close));
  TRY(library.find("archive_write_data", archive.write_data));
  TRY(library.find("archive_write_free", archive.write_free));
  TRY(library.find("archive_write_header", archive.write_header));
  TRY(library.find("archive_write_new", archive.write_new));
  TRY(library.find("archive_write_open", archive.write_open));
  TRY(library.find("archive_write_set_bytes_in_last_block", archive.write_set_bytes_in_last_block));
  TRY(library.find("archive_write_set_bytes_per_block", archive.write_set_bytes_per_block));
  TRY(library.find("archive_write_set_format_pax", archive.write_set_format_pax));
  return archive;
}

const Result<Libarchive>& loaded() {
  static const Result<Libarchive> kLoaded = load();
  return kLoaded;
}

}  // namespace

Result<void> load_libarchive() {
  if (!loaded().ok()) return loaded().error();
  return {};
}

const Libarchive& libarchive() { return *loaded(); }

}  // namespace runnel::volume
