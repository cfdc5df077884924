#pragma once

#include <memory>
#include <string>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "fuse/file_service.h"

struct fuse_session;

namespace runnel::fuse {

// The kernel's requests for one mount, and their answers, over a connection that somebody else has
// opened and may hand on to the next process.
//
// Contract: a process that takes a mount over begins with the first message that the kernel has
//           sent ever, and asks for what the one before it has left unanswered by ask_again().
//           Every request is answered once.
// Threads:  the loop's only.
// Lifetime: loop and service outlive it; serve() ends before destruction.
class KernelSession {
 public:
  static Result<std::unique_ptr<KernelSession>> create(async::EventLoop& loop,
                                                       async::UniqueFd connection,
                                                       const std::string& first_message,
                                                       FileService& service);
  ~KernelSession();
  KernelSession(const KernelSession&) = delete;
  KernelSession& operator=(const KernelSession&) = delete;

  // kUnsupported on a kernel before 6.9: what was not answered is never.
  Result<void> ask_again();
  // Until the mount is no more, or `stop`.
  Async<void> serve(async::StopToken stop);

 private:
  KernelSession(async::EventLoop& loop, int connection, fuse_session* session);
  enum class Took : std::uint8_t { kNone, kSome, kEnd };
  Result<Took> take_some();
  // Takes requests until none has come for a moment. False once the mount is no more.
  Async<bool> take_while_busy(async::StopToken stop);

  async::EventLoop& loop_;
  const int connection_;  // The session's.
  fuse_session* session_;
  int idle_looks_ = 0;  // In a row, each of which has waited for the next request in vain.
  struct Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace runnel::fuse
