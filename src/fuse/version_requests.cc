#include "fuse/version_requests.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <cerrno>

namespace runnel::fuse {
namespace {

FileService& files_of(fuse_req_t request) {
  return *static_cast<FileService*>(service_of(request));
}

struct VersionHandlers {
  static void begin(void* /*service*/, fuse_conn_info* connection) {
    // Splicing gains nothing here, and each direction of it has cost more.
    connection->want &= ~(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
    // A version never changes, so neither do sizes and times; a folder is listed with all
    // attributes.
    connection->want &= ~(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS_AUTO);
    connection->want |= connection->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS |
                                               FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS);
    set_limits(*connection);
  }

  static void look_up(fuse_req_t request, fuse_ino_t folder, const char* name) {
    files_of(request).look_up(request, folder, name);
  }

  static void attributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/) {
    files_of(request).attributes(request, inode);
  }

  static void read_link(fuse_req_t request, fuse_ino_t inode) {
    files_of(request).read_link(request, inode);
  }

  // Nothing is kept of an open file or folder: with this answer the kernel asks no more, and keeps
  // what it has read.
  static void open_without_state(fuse_req_t request, fuse_ino_t /*inode*/,
                                 fuse_file_info* /*file*/) {
    ::fuse_reply_err(request, ENOSYS);
  }

  static void read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                   fuse_file_info* /*file*/) {
    files_of(request).read(request, inode, static_cast<std::uint64_t>(offset), size);
  }

  static void list(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                   fuse_file_info* /*file*/) {
    files_of(request).list(request, inode, static_cast<std::uint64_t>(offset), size,
                           Attributes::kNo);
  }

  static void list_with_attributes(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                                   fuse_file_info* /*file*/) {
    files_of(request).list(request, inode, static_cast<std::uint64_t>(offset), size,
                           Attributes::kYes);
  }

  static void totals(fuse_req_t request, fuse_ino_t /*inode*/) {
    files_of(request).totals(request);
  }

  // Inodes have their numbers for good: there is nothing to be forgotten.
  static void forget(fuse_req_t request, fuse_ino_t /*inode*/, std::uint64_t /*count*/) {
    ::fuse_reply_none(request);
  }

  static void forget_all(fuse_req_t request, size_t /*count*/, fuse_forget_data* /*inodes*/) {
    ::fuse_reply_none(request);
  }

  static fuse_lowlevel_ops operations() {
    fuse_lowlevel_ops all{};
    all.init = begin;
    all.lookup = look_up;
    all.forget = forget;
    all.forget_multi = forget_all;
    all.getattr = attributes;
    all.readlink = read_link;
    all.open = open_without_state;
    all.opendir = open_without_state;
    all.read = read;
    all.readdir = list;
    all.readdirplus = list_with_attributes;
    all.statfs = totals;
    return all;
  }
};

}  // namespace

KernelHandlers handlers_of(FileService& service) {
  static const fuse_lowlevel_ops kAll = VersionHandlers::operations();
  return {kAll, &service};
}

}  // namespace runnel::fuse
