#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "base/result.h"

namespace runnel::volume {

// The functions of libarchive that are used, by their names there. It is loaded by the first who
// reads or writes a tar, as few processes do: with what it needs for archives of all other kinds it
// takes as long to load as the rest of a command.
struct Libarchive {
  decltype(&::archive_entry_clear) entry_clear = nullptr;
  decltype(&::archive_entry_copy_pathname) entry_copy_pathname = nullptr;
  decltype(&::archive_entry_copy_symlink) entry_copy_symlink = nullptr;
  decltype(&::archive_entry_filetype) entry_filetype = nullptr;
  decltype(&::archive_entry_free) entry_free = nullptr;
  decltype(&::archive_entry_hardlink) entry_hardlink = nullptr;
  decltype(&::archive_entry_mtime) entry_mtime = nullptr;
  decltype(&::archive_entry_mtime_nsec) entry_mtime_nsec = nullptr;
  decltype(&::archive_entry_new) entry_new = nullptr;
  decltype(&::archive_entry_pathname) entry_pathname = nullptr;
  decltype(&::archive_entry_perm) entry_perm = nullptr;
  decltype(&::archive_entry_set_filetype) entry_set_filetype = nullptr;
  decltype(&::archive_entry_set_gid) entry_set_gid = nullptr;
  decltype(&::archive_entry_set_mtime) entry_set_mtime = nullptr;
  decltype(&::archive_entry_set_perm) entry_set_perm = nullptr;
  decltype(&::archive_entry_set_size) entry_set_size = nullptr;
  decltype(&::archive_entry_set_uid) entry_set_uid = nullptr;
  decltype(&::archive_entry_size) entry_size = nullptr;
  decltype(&::archive_entry_symlink) entry_symlink = nullptr;
  decltype(&::archive_error_string) error_string = nullptr;
  decltype(&::archive_filter_count) filter_count = nullptr;
  decltype(&::archive_read_data_block) read_data_block = nullptr;
  decltype(&::archive_read_free) read_free = nullptr;
  decltype(&::archive_read_new) read_new = nullptr;
  decltype(&::archive_read_next_header) read_next_header = nullptr;
  decltype(&::archive_read_open) read_open = nullptr;
  decltype(&::archive_read_support_filter_bzip2) read_support_filter_bzip2 = nullptr;
  decltype(&::archive_read_support_filter_gzip) read_support_filter_gzip = nullptr;
  decltype(&::archive_read_support_filter_xz) read_support_filter_xz = nullptr;
  decltype(&::archive_read_support_filter_zstd) read_support_filter_zstd = nullptr;
  decltype(&::archive_read_support_format_tar) read_support_format_tar = nullptr;
  decltype(&::archive_write_close) write_close = nullptr;
  decltype(&::archive_write_data) write_data = nullptr;
  decltype(&::archive_write_free) write_free = nullptr;
  decltype(&::archive_write_header) write_header = nullptr;
  decltype(&::archive_write_new) write_new = nullptr;
  decltype(&::archive_write_open) write_open = nullptr;
  decltype(&::archive_write_set_bytes_in_last_block) write_set_bytes_in_last_block = nullptr;
  decltype(&::archive_write_set_bytes_per_block) write_set_bytes_per_block = nullptr;
  decltype(&::archive_write_set_format_pax) write_set_format_pax = nullptr;
};

// kUnsupported when it is not installed. Threads: any.
Result<void> load_libarchive();
// After load_libarchive().
const Libarchive& libarchive();

}  // namespace runnel::volume
