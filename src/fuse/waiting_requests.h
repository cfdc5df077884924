#pragma once

#include <memory>
#include <vector>

#include "async/event_loop.h"
#include "async/gate.h"

struct fuse_req;

namespace runnel::fuse {

// A request as libfuse knows it.
using Request = fuse_req*;

class WaitingRequests;

// One that the kernel waits for; null once it is answered.
struct WaitingRequest : std::enable_shared_from_this<WaitingRequest> {
  WaitingRequest(WaitingRequests& of, Request asked) : all(of), request(asked) {}

  // Who gets it has to answer; null when it is answered already.
  Request take();
  // Whether somebody waits, who is from now on answered by the work alone: what it asked for is
  // done, and an EINTR would be a lie.
  bool hold();

  WaitingRequests& all;
  Request request;
  bool is_held = false;
};
using Waiting = std::shared_ptr<WaitingRequest>;

// The requests of a mount that are not answered yet.
//
// Contract: one whose asker is killed is answered with EINTR within kLookEvery; what it asked for
//           goes on. Other signals interrupt no request, since programs do not expect it of files.
// Threads:  the loop's only.
// Lifetime: outlives its requests, which are answered before close(), which is awaited before
//           destruction.
// Why:      the kernel tells of an asker's first signal and of no later one, so whoever has got one
//           may be killed unheard: it is looked at until its answer.
class WaitingRequests {
 public:
  explicit WaitingRequests(async::EventLoop& loop) : loop_(loop), watching_(loop) {}

  Waiting add(Request request);
  Async<void> close() { return watching_.close(); }

 private:
  // libfuse may hold the request's lock here, so that it is answered later.
  static void on_signal(Request request, void* waiting);
  void watch(Waiting waiting);
  Async<void> keep_looking();

  async::EventLoop& loop_;
  std::vector<Waiting> signalled_;
  bool looks_ = false;
  async::Gate watching_;
};

}  // namespace runnel::fuse
