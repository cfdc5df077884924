#pragma once

#include <cstdint>
#include <list>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"

namespace runnel::async {

enum class Wake : std::uint8_t { kNotified, kTimeout };

// Waiters for "something changed": a condition variable for the coroutines of one loop.
//
// Contract: notify wakes those who wait now and is forgotten otherwise: test the condition, wait,
//           test again. A waiter resumes at the next turn, never inside notify. kCancelled when the
//           token stops first.
// Threads:  the loop's only, so nothing happens between the test and the wait.
// Lifetime: nobody waits at destruction (CHECKed).
class Notifier {
 public:
  explicit Notifier(EventLoop& loop) : loop_(loop) {}
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void notify_one();  // The one who has waited longest.
  void notify_all();
  Async<void> wait(StopToken token = {});
  Async<Wake> wait_for(Duration length, StopToken token = {});
  bool has_waiters() const { return !waiters_.empty(); }

 private:
  struct Waiter;
  struct Parking;
  void wake(Waiter& waiter);

  EventLoop& loop_;
  std::list<Waiter*> waiters_;
};

// Opens once and stays open: "started", "ready", "ended".
class Latch {
 public:
  explicit Latch(EventLoop& loop) : changed_(loop) {}
  void open();  // Idempotent.
  bool is_open() const { return open_; }
  Async<void> wait(StopToken token = {});

 private:
  Notifier changed_;
  bool open_ = false;
};

}  // namespace runnel::async
