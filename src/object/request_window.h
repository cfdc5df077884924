#pragma once

#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"

namespace runnel::object {

// How many requests may be under way: additive increase, multiplicative decrease (Chiu and Jain,
// "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance", 1989).
//
// Contract: enter() waits for its turn, in order of arrival; everyone who entered leaves once.
// Threads:  the loop's only.
class RequestWindow {
 public:
  RequestWindow(async::EventLoop& loop, int most) : most_(most), allowed_(most), left_(loop) {}

  Async<void> enter(async::StopToken stop);
  void leave();

  void succeeded();  // One more for as many successes as there may be requests.
  void congested();  // Half as many.
  int allowed() const { return static_cast<int>(allowed_); }

 private:
  const int most_;
  double allowed_;
  int inside_ = 0;
  async::Notifier left_;
};

}  // namespace runnel::object
