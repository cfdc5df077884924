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
#include <cstring>
#include <utility>

#include "base/check.h"

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
// FUSE_UNIQUE_RESEND of Linux 6.9: of a request that was sent before.
constexpr std::uint64_t kIsSentAgain = std::uint64_t{1} << 63;

ssize_t write_to(int descriptor, iovec* pieces, int count, void* /*given*/) {
  return ::writev(descriptor, pieces, count);
}

std::uint64_t number_in(const fuse_buf& message) {
  fuse_in_header header{};
  CHECK(message.size >= sizeof header, "the kernel sends whole requests");
  std::memcpy(&header, message.mem, sizeof header);
  return header.unique & ~kIsSentAgain;
}

ssize_t read_from(int descriptor, void* buffer, size_t size, void* /*given*/) {
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

void* service_of(Request request) {
  return static_cast<KernelSession::Given*>(::fuse_req_userdata(request))->service;
}

void set_limits(fuse_conn_info& connection) {
  constexpr unsigned kBackgroundMax = 64;
  constexpr unsigned kReadAheadMax = 1 << 20;  // Bytes.
  connection.max_background = kBackgroundMax;
  connection.congestion_threshold = kBackgroundMax * 3 / 4;
  connection.max_readahead = kReadAheadMax;
}

std::uint64_t number_of(Request request) {
  return static_cast<KernelSession::Given*>(::fuse_req_userdata(request))->number;
}

KernelSession::KernelSession(async::EventLoop& loop, int connection, std::unique_ptr<Given> given,
                             fuse_session* session)
    : loop_(loop),
      connection_(connection),
      given_(std::move(given)),
      session_(session),
      buffer_(std::make_unique<Buffer>()) {}

Result<std::unique_ptr<KernelSession>> KernelSession::create(async::EventLoop& loop,
                                                             async::UniqueFd connection,
                                                             const std::string& first_message,
                                                             KernelHandlers handlers) {
  std::array<char, 7> name{"runnel"};
  std::array<char*, 1> arguments{name.data()};
  fuse_args args = FUSE_ARGS_INIT(1, arguments.data());
  auto given = std::make_unique<Given>();
  given->service = handlers.service;
  fuse_session* const session =
      ::fuse_session_new(&args, &handlers.functions, sizeof handlers.functions, given.get());
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
  auto created = std::unique_ptr<KernelSession>(
      new KernelSession(loop, connection.release(), std::move(given), session));
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
    given_->number = number_in(buffer_->one);
    ::fuse_session_process_buf(session_, &buffer_->one);
    if (::fuse_session_exited(session_) != 0) return Took::kEnd;
    took = Took::kSome;
  }
  return took;
}

}  // namespace runnel::fuse
