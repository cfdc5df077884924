#pragma once

#include "async/event_loop.h"
#include "async/gate.h"
#include "fuse/error_notices.h"
#include "fuse/waiting_requests.h"

namespace runnel::fuse {

// The work that answers the requests of a mount.
//
// Contract: every request that is begun is answered, in any order. Work that fails is answered for
//           by the errno of its error, and the cause is said as ErrorNotices does, but for what a
//           disk would have refused, too; what a stop has ended is left to the next server. A
//           request whose asker is killed meanwhile is answered as WaitingRequests does, or a store
//           that stalls would keep it.
// Threads:  the loop's only.
// Lifetime: loop and notices outlive it. close() is awaited before destruction; what is under way
//           then is answered first.
class RequestAnswers {
 public:
  RequestAnswers(async::EventLoop& loop, ErrorNotices& notices)
      : loop_(loop), notices_(notices), waiting_(loop), answering_(loop) {}

  Waiting add(Request request) { return waiting_.add(request); }
  // Begins the work, which answers what waits, or fails before it has.
  void begin(const Waiting& waiting, Async<void> work);
  Async<void> close();

 private:
  Async<void> answer_or_fail(Waiting waiting, Async<void> work);

  async::EventLoop& loop_;
  ErrorNotices& notices_;
  WaitingRequests waiting_;
  async::Gate answering_;
};

}  // namespace runnel::fuse
