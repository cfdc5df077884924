#pragma once

#include <string>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"

namespace runnel::async {

// Counts the detached work of a service, so that stop() can wait for all of it.
//
// Contract: enter() fails with kCancelled once closed; close() refuses newcomers, stops the token
//           and returns when everybody has left. One call of close() is enough; more wait as well.
// Threads:  the loop's only.
// Lifetime: empty at destruction (CHECKed): `co_await gate.close()` belongs in every stop().
// Why:      `this` captured in detached work is the classic crash of coroutine services.
class Gate {
 public:
  explicit Gate(EventLoop& loop) : emptied_(loop) {}
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  Result<void> enter();
  void leave();
  Async<void> close();

  bool closed() const { return closed_; }
  int inside() const { return inside_; }
  // Stops when the gate begins to close: pass it to the work that enters.
  StopToken token() const { return source_.token(); }

 private:
  StopSource source_;
  Notifier emptied_;
  int inside_ = 0;
  bool closed_ = false;
};

}  // namespace runnel::async
