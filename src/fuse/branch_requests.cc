#include "fuse/branch_requests.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "fuse/kernel_node.h"
#include "fuse/publish_call.h"
#include "fuse/read_requests.h"

namespace runnel::fuse {
namespace {

using volume::NodeKind;
using writing::BranchFiles;
using writing::Moment;

constexpr std::uint32_t kPermissions = 07777;

struct BranchHandlers : ReadHandlers<BranchService> {
  static void begin(void* /*given*/, fuse_conn_info* connection) {
    // Splicing gains nothing here, and each direction of it has cost more. Nobody but the kernel's
    // own users changes what it remembers.
    connection->want &= ~(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                          FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_HANDLE_KILLPRIV);
    connection->want |= connection->capable &
                        (FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
                         FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
                         FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_IOCTL_DIR);
    set_limits(*connection);
  }

  static Moment moment_of(const timespec& time) {
    return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)};
  }

  // What belongs to who mounts names nobody: it is everybody's own who mounts the volume.
  static BranchFiles::NewNode new_node(fuse_req_t request, NodeKind kind, mode_t mode) {
    const fuse_ctx& asker = *::fuse_req_ctx(request);
    BranchFiles::NewNode node;
    node.kind = kind;
    node.mode = mode & kPermissions;
    if (asker.uid != ::getuid()) node.owner = asker.uid;
    if (asker.gid != ::getgid()) node.group = asker.gid;
    return node;
  }

  static void set_attributes(fuse_req_t request, fuse_ino_t inode, struct stat* all, int which,
                             fuse_file_info* file) {
    const auto has = [which](int flag) { return (which & flag) != 0; };
    BranchFiles::NewAttributes what;
    if (has(FUSE_SET_ATTR_SIZE)) what.size = static_cast<std::uint64_t>(all->st_size);
    if (has(FUSE_SET_ATTR_MODE)) what.mode = all->st_mode & kPermissions;
    if (has(FUSE_SET_ATTR_UID)) what.owner = all->st_uid;
    if (has(FUSE_SET_ATTR_GID)) what.group = all->st_gid;
    if (has(FUSE_SET_ATTR_ATIME)) what.accessed = moment_of(all->st_atim);
    if (has(FUSE_SET_ATTR_MTIME)) what.modified = moment_of(all->st_mtim);
    if (has(FUSE_SET_ATTR_ATIME_NOW)) what.accessed = moment_now();
    if (has(FUSE_SET_ATTR_MTIME_NOW)) what.modified = moment_now();
    const auto by = file == nullptr ? std::nullopt : std::optional(file->fh);
    service(request).set_attributes(request, inode, what, by);
  }

  // A volume has no devices, pipes and sockets.
  static void make_node(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode,
                        dev_t /*device*/) {
    if (!S_ISREG(mode)) {
      ::fuse_reply_err(request, EPERM);
      return;
    }
    service(request).make(request, {folder, name}, new_node(request, NodeKind::kFile, mode));
  }

  static void make_folder(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode) {
    service(request).make(request, {folder, name}, new_node(request, NodeKind::kFolder, mode));
  }

  static void make_link(fuse_req_t request, const char* target, fuse_ino_t folder,
                        const char* name) {
    BranchFiles::NewNode node = new_node(request, NodeKind::kLink, 0777);
    node.target = target;
    service(request).make(request, {folder, name}, std::move(node));
  }

  static void remove_name(fuse_req_t request, fuse_ino_t folder, const char* name) {
    service(request).remove(request, {folder, name}, NodeKind::kFile);
  }

  static void remove_folder(fuse_req_t request, fuse_ino_t folder, const char* name) {
    service(request).remove(request, {folder, name}, NodeKind::kFolder);
  }

  static void rename(fuse_req_t request, fuse_ino_t folder, const char* name, fuse_ino_t new_folder,
                     const char* new_name, unsigned flags) {
    auto how = BranchFiles::RenameMode::kReplace;
    if (flags == RENAME_NOREPLACE) {
      how = BranchFiles::RenameMode::kNoReplace;
    } else if (flags == RENAME_EXCHANGE) {
      how = BranchFiles::RenameMode::kExchange;
    } else if (flags != 0) {
      ::fuse_reply_err(request, EINVAL);
      return;
    }
    service(request).rename(request, {folder, name}, {new_folder, new_name}, how);
  }

  static void link(fuse_req_t request, fuse_ino_t inode, fuse_ino_t folder, const char* name) {
    service(request).link(request, inode, {folder, name});
  }

  static void make_and_open(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode,
                            fuse_file_info* file) {
    service(request).make_and_open(request, {folder, name},
                                   new_node(request, NodeKind::kFile, mode), file->flags);
  }

  static void open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file) {
    service(request).open(request, inode, file->flags);
  }

  static void write(fuse_req_t request, fuse_ino_t inode, const char* bytes, size_t size,
                    off_t offset, fuse_file_info* file) {
    service(request).write(request, inode, file->fh, static_cast<std::uint64_t>(offset),
                           std::string(bytes, size));
  }

  static void flush(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file) {
    service(request).flush(request, inode, file->fh);
  }

  static void release(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file) {
    service(request).release(request, inode, file->fh);
  }

  static void sync(fuse_req_t request, fuse_ino_t inode, int /*data_alone*/, fuse_file_info* file) {
    service(request).sync(request, inode, file->fh);
  }

  static void sync_folder(fuse_req_t request, fuse_ino_t inode, int /*data_alone*/,
                          fuse_file_info* /*file*/) {
    service(request).sync(request, inode, WrittenFiles::kOfReader);
  }

  static void call(fuse_req_t request, fuse_ino_t /*inode*/, unsigned which, void* /*argument*/,
                   fuse_file_info* /*file*/, unsigned /*flags*/, const void* /*given*/,
                   size_t /*given_size*/, size_t room) {
    if (which != kPublishCall || room < sizeof(PublishAnswer)) {
      ::fuse_reply_err(request, ENOTTY);
      return;
    }
    service(request).publish(request);
  }

  static void forget(fuse_req_t request, fuse_ino_t inode, std::uint64_t count) {
    service(request).forget(inode, count);
    ::fuse_reply_none(request);
  }

  static void forget_all(fuse_req_t request, size_t count, fuse_forget_data* inodes) {
    for (size_t at = 0; at < count; ++at) {
      service(request).forget(inodes[at].ino, inodes[at].nlookup);
    }
    ::fuse_reply_none(request);
  }

  static fuse_lowlevel_ops operations() {
    fuse_lowlevel_ops all = ReadHandlers::operations();
    all.init = begin;
    all.forget = forget;
    all.forget_multi = forget_all;
    all.setattr = set_attributes;
    all.mknod = make_node;
    all.mkdir = make_folder;
    all.symlink = make_link;
    all.unlink = remove_name;
    all.rmdir = remove_folder;
    all.rename = rename;
    all.link = link;
    all.create = make_and_open;
    all.open = open;
    all.write = write;
    all.flush = flush;
    all.release = release;
    all.fsync = sync;
    all.fsyncdir = sync_folder;
    all.ioctl = call;
    return all;
  }
};

}  // namespace

KernelHandlers handlers_of(BranchService& service) {
  static const fuse_lowlevel_ops kAll = BranchHandlers::operations();
  return {kAll, &service};
}

}  // namespace runnel::fuse
