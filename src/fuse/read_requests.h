#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <cerrno>
#include <cstdint>

#include "fuse/kernel_listing.h"
#include "fuse/kernel_session.h"

namespace runnel::fuse {

// What libfuse calls for requests that change nothing: given on to a service, of versions and of
// branches alike.
template <typename Service>
struct ReadHandlers {
  static Service& service(fuse_req_t request) {
    return *static_cast<Service*>(service_of(request));
  }

  static void look_up(fuse_req_t request, fuse_ino_t folder, const char* name) {
    service(request).look_up(request, folder, name);
  }

  static void attributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/) {
    service(request).attributes(request, inode);
  }

  static void read_link(fuse_req_t request, fuse_ino_t inode) {
    service(request).read_link(request, inode);
  }

  // Nothing is kept of what is open: with this answer the kernel asks no more, and keeps what it
  // has read.
  static void open_without_state(fuse_req_t request, fuse_ino_t /*inode*/,
                                 fuse_file_info* /*file*/) {
    ::fuse_reply_err(request, ENOSYS);
  }

  static void read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                   fuse_file_info* /*file*/) {
    service(request).read(request, inode, static_cast<std::uint64_t>(offset), size);
  }

  static void list(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                   fuse_file_info* /*file*/) {
    service(request).list(request, inode, static_cast<std::uint64_t>(offset), size,
                          Attributes::kNo);
  }

  static void list_with_attributes(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                                   fuse_file_info* /*file*/) {
    service(request).list(request, inode, static_cast<std::uint64_t>(offset), size,
                          Attributes::kYes);
  }

  static void totals(fuse_req_t request, fuse_ino_t /*inode*/) { service(request).totals(request); }

  static fuse_lowlevel_ops operations() {
    fuse_lowlevel_ops all{};
    all.lookup = look_up;
    all.getattr = attributes;
    all.readlink = read_link;
    all.opendir = open_without_state;
    all.read = read;
    all.readdir = list;
    all.readdirplus = list_with_attributes;
    all.statfs = totals;
    return all;
  }
};

}  // namespace runnel::fuse
