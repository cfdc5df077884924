#pragma once

#include <memory>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "control/api/home_disk.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "http/message.h"

namespace runnel::control {

// Waits for handlers, and for the home's disk no longer than its patience.
//
// Contract: who waits while the disk says nothing for so long is told so (503); what was asked for
//           goes on, and what is decided of it stands. A handler is never cut short: it may have
//           stored secrets that it must wipe, or have a decision under way that becomes durable
//           later.
// Threads:  the loop's only.
// Lifetime: what it was given outlives it, and so do the handlers. stop() is awaited before
//           destruction.
// Limits:   kUnansweredMax requests go on without anybody who waits for them; more are refused.
class Patience {
 public:
  static constexpr int kUnansweredMax = 1'024;

  Patience(async::EventLoop& loop, Controller& controller, const ApiHost& host,
           const HomeDisk& disk)
      : loop_(loop), controller_(controller), host_(host), disk_(disk), gate_(loop) {}

  Async<http::Reply> wait_for(const Handle* handle, Ask ask);
  Async<void> stop();

 private:
  struct Pending;
  Async<void> go_on(std::shared_ptr<Pending> pending, const Handle* handle, Ask ask);

  async::EventLoop& loop_;
  Controller& controller_;
  const ApiHost& host_;
  const HomeDisk& disk_;
  int unanswered_ = 0;
  async::Gate gate_;
};

}  // namespace runnel::control
