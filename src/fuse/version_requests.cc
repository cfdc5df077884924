#include "fuse/version_requests.h"

#include "fuse/read_requests.h"

namespace runnel::fuse {
namespace {

struct VersionHandlers : ReadHandlers<FileService> {
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

  // Inodes have their numbers for good: there is nothing to be forgotten.
  static void forget(fuse_req_t request, fuse_ino_t /*inode*/, std::uint64_t /*count*/) {
    ::fuse_reply_none(request);
  }

  static void forget_all(fuse_req_t request, size_t /*count*/, fuse_forget_data* /*inodes*/) {
    ::fuse_reply_none(request);
  }

  static fuse_lowlevel_ops operations() {
    fuse_lowlevel_ops all = ReadHandlers::operations();
    all.init = begin;
    all.forget = forget;
    all.forget_multi = forget_all;
    all.open = open_without_state;
    return all;
  }
};

}  // namespace

KernelHandlers handlers_of(FileService& service) {
  static const fuse_lowlevel_ops kAll = VersionHandlers::operations();
  return {kAll, &service};
}

}  // namespace runnel::fuse
