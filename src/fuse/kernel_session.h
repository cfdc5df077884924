#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "fuse/waiting_requests.h"

struct fuse_conn_info;
struct fuse_lowlevel_ops;
struct fuse_session;

namespace runnel::fuse {

// What answers the requests of a session: libfuse's table of functions, each of which finds the
// service by service_of().
struct KernelHandlers {
  const fuse_lowlevel_ops& functions;
  void* service;
};
void* service_of(Request request);
// How many requests may be under way that nobody waits for, and how far the kernel reads ahead.
void set_limits(fuse_conn_info& connection);
// The number of the request that is being begun, by which the kernel sends it again.
std::uint64_t number_of(Request request);

// The kernel's requests for one mount, and their answers, over a connection that somebody else has
// opened and may hand on to the next process.
//
// Contract: a process that takes a mount over begins with the first message that the kernel has
//           sent ever, and asks for what the one before it has left unanswered by ask_again().
//           Every request is answered once.
// Threads:  the loop's only.
// Lifetime: loop and handlers outlive it; serve() ends before destruction.
class KernelSession {
 public:
  static Result<std::unique_ptr<KernelSession>> create(async::EventLoop& loop,
                                                       async::UniqueFd connection,
                                                       const std::string& first_message,
                                                       KernelHandlers handlers);
  ~KernelSession();
  KernelSession(const KernelSession&) = delete;
  KernelSession& operator=(const KernelSession&) = delete;

  // kUnsupported on a kernel before 6.9: what was not answered is never.
  Result<void> ask_again();
  // Until the mount is no more, or `stop`.
  Async<void> serve(async::StopToken stop);

 private:
  // What libfuse gives to each function.
  struct Given {
    void* service = nullptr;
    std::uint64_t number = 0;  // Of the request that is being begun.
  };
  friend void* service_of(Request request);
  friend std::uint64_t number_of(Request request);

  KernelSession(async::EventLoop& loop, int connection, std::unique_ptr<Given> given,
                fuse_session* session);
  enum class Took : std::uint8_t { kNone, kSome, kEnd };
  Result<Took> take_some();
  // Takes requests until none has come for a moment. False once the mount is no more.
  Async<bool> take_while_busy(async::StopToken stop);

  async::EventLoop& loop_;
  const int connection_;  // The session's.
  const std::unique_ptr<Given> given_;
  fuse_session* session_;
  int idle_looks_ = 0;  // In a row, each of which has waited for the next request in vain.
  struct Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace runnel::fuse
