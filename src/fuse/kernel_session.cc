#include "fuse/kernel_session.h"

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace runnel::fuse {
namespace {

constexpr int kRequestsAtOnce = 64;  // Before others of the loop have their turn.
// Looks for the next request before the process sleeps: some 100 us.
constexpr int kLingerLooks = 100;
// Where requests come one by one, with time between them, only each kLookAgain-th is waited for.
constexpr int kIdleLooksMax = 4;
constexpr int kLookAgain = 16;
// FUSE_NOTIFY_RESEND of Linux 6.9; Debian 12's headers are older.
constexpr int kNotifyResend = 7;
constexpr unsigned kBackgroundMax = 64;  // Requests that nobody waits for, such as read-ahead.
constexpr unsigned kReadAheadMax = 1 << 20;

FileService& service_of(fuse_req_t request) {
  return *static_cast<FileService*>(::fuse_req_userdata(request));
}

void begin(void* /*service*/, fuse_conn_info* connection) {
  // Splicing gains nothing here, and each direction of it has cost more.
  connection->want &= ~(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
  // A version never changes, so neither do sizes and times; a folder is listed with all attributes.
  connection->want &= ~(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS_AUTO);
  connection->want |= connection->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS |
                                             FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS);
  connection->max_background = kBackgroundMax;
  connection->congestion_threshold = kBackgroundMax * 3 / 4;
  connection->max_readahead = kReadAheadMax;
}

void look_up(fuse_req_t request, fuse_ino_t folder, const char* name) {
  service_of(request).look_up(request, folder, name);
}

void attributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/) {
  service_of(request).attributes(request, inode);
}

void read_link(fuse_req_t request, fuse_ino_t inode) {
  service_of(request).read_link(request, inode);
}

// Nothing is kept of an open file or folder: with this answer the kernel asks no more, and keeps
// what it has read.
void open_without_state(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/) {
  ::fuse_reply_err(request, ENOSYS);
}

void read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
          fuse_file_info* /*file*/) {
  service_of(request).read(request, inode, static_cast<std::uint64_t>(offset), size);
}

void list(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
          fuse_file_info* /*file*/) {
  service_of(request).list(request, inode, static_cast<std::uint64_t>(offset), size,
                           FileService::Attributes::kNo);
}

void list_with_attributes(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                          fuse_file_info* /*file*/) {
  service_of(request).list(request, inode, static_cast<std::uint64_t>(offset), size,
                           FileService::Attributes::kYes);
}

void totals(fuse_req_t request, fuse_ino_t /*inode*/) { service_of(request).totals(request); }

// Inodes have their numbers for good: there is nothing to be forgotten.
void forget(fuse_req_t request, fuse_ino_t /*inode*/, std::uint64_t /*count*/) {
  ::fuse_reply_none(request);
}

void forget_all(fuse_req_t request, size_t /*count*/, fuse_forget_data* /*inodes*/) {
  ::fuse_reply_none(request);
}

fuse_lowlevel_ops operations() {
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

ssize_t write_to(int descriptor, iovec* pieces, int count, void* /*service*/) {
  return ::writev(descriptor, pieces, count);
}

ssize_t read_from(int descriptor, void* buffer, size_t size, void* /*service*/) {
  return ::read(descriptor, buffer, size);
}

}  // namespace

struct KernelSession::Buffer {
  Buffer() = default;
  ~Buffer() { std::free(one.mem); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  fuse_buf one{};
};

KernelSession::KernelSession(async::EventLoop& loop, int connection, fuse_session* session)
    : loop_(loop),
      connection_(connection),
      session_(session),
      buffer_(std::make_unique<Buffer>()) {}

Result<std::unique_ptr<KernelSession>> KernelSession::create(async::EventLoop& loop,
                                                             async::UniqueFd connection,
                                                             const std::string& first_message,
                                                             FileService& service) {
  std::array<char, 7> name{"runnel"};
  std::array<char*, 1> arguments{name.data()};
  fuse_args args = FUSE_ARGS_INIT(1, arguments.data());
  const fuse_lowlevel_ops all = operations();
  fuse_session* const session = ::fuse_session_new(&args, &all, sizeof all, &service);
  ::fuse_opt_free_args(&args);
  if (session == nullptr) return Error(Errc::kInternal, "libfuse gives no session");
  fuse_custom_io io{};
  io.writev = write_to;
  io.read = read_from;
  const int flags = ::fcntl(connection.get(), F_GETFL);
  const bool is_set = ::fcntl(connection.get(), F_SETFL, flags | O_NONBLOCK) == 0 &&
                      ::fuse_session_custom_io(session, &io, connection.get()) == 0;
  if (!is_set) {
    ::fuse_session_destroy(session);
    return Error(Errc::kInternal, "libfuse does not take the connection of the mount");
  }
  auto created =
      std::unique_ptr<KernelSession>(new KernelSession(loop, connection.release(), session));
  std::string copy = first_message;
  fuse_buf first{};
  first.mem = copy.data();
  first.size = copy.size();
  // Who takes a mount over answers it, too; the kernel knows no such request then.
  ::fuse_session_process_buf(session, &first);
  return created;
}

KernelSession::~KernelSession() { ::fuse_session_destroy(session_); }

Result<void> KernelSession::ask_again() {
  fuse_out_header header{};
  header.len = sizeof header;
  header.error = kNotifyResend;
  if (::write(connection_, &header, sizeof header) == sizeof header) return {};
  if (errno == EINVAL) {
    return Error(Errc::kUnsupported, "this kernel cannot send requests of a mount again");
  }
  return errno_error("ask the kernel for the requests of a mount again", errno);
}

Async<void> KernelSession::serve(async::StopToken stop) {
  while (true) {
    CO_TRY(co_await loop_.readable(connection_, stop));
    const bool goes_on = CO_TRY(co_await take_while_busy(stop));
    if (!goes_on) co_return {};
  }
}

// Who reads small files asks for the next one as soon as it has an answer. To sleep in between is
// dearer than the answer: on a virtual machine another processor wakes up in some 40 us.
Async<bool> KernelSession::take_while_busy(async::StopToken stop) {
  const bool lingers = idle_looks_ < kIdleLooksMax || idle_looks_ % kLookAgain == 0;
  const int looks = lingers ? kLingerLooks : 1;
  bool was_in_vain = true;
  for (int look = 0; look < looks; ++look) {
    CO_TRY(stop.check());
    const Took took = CO_TRY(take_some());
    if (took == Took::kEnd) co_return false;
    CO_TRY(co_await loop_.yield());  // Answers are given.
    if (took == Took::kNone) {
      ::sched_yield();  // Who asks may need this very processor.
      continue;
    }
    was_in_vain = look == 0;
    look = 0;
  }
  idle_looks_ = was_in_vain ? idle_looks_ + 1 : 0;
  co_return true;
}

Result<KernelSession::Took> KernelSession::take_some() {
  Took took = Took::kNone;
  for (int number = 0; number < kRequestsAtOnce; ++number) {
    const int size = ::fuse_session_receive_buf(session_, &buffer_->one);
    if (size == 0) return Took::kEnd;
    if (size == -EAGAIN || size == -EINTR) break;
    if (size < 0) return errno_error("read the requests of a mount", -size);
    ::fuse_session_process_buf(session_, &buffer_->one);
    if (::fuse_session_exited(session_) != 0) return Took::kEnd;
    took = Took::kSome;
  }
  return took;
}

}  // namespace runnel::fuse
