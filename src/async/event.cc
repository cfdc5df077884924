#include "async/event.h"

#include <coroutine>

#include "base/check.h"

namespace runnel::async {

// Lives in the frame of the coroutine that waits.
struct Notifier::Waiter {
  std::coroutine_handle<> waiting;
  std::list<Waiter*>::iterator place;
  bool listed = false;
  bool cancelled = false;
  bool timed_out = false;
};

struct Notifier::Parking {
  Notifier& notifier;
  Waiter& waiter;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    waiter.waiting = waiting;
    waiter.place = notifier.waiters_.insert(notifier.waiters_.end(), &waiter);
    waiter.listed = true;
  }
  void await_resume() const { CHECK(!waiter.listed, "a waiter resumed while it was listed"); }
};

Notifier::~Notifier() { CHECK(waiters_.empty(), "a notifier was destroyed with waiters"); }

void Notifier::wake(Waiter& waiter) {
  CHECK(waiter.listed, "a waiter is woken twice");
  waiters_.erase(waiter.place);
  waiter.listed = false;
  loop_.resume_soon(waiter.waiting);
}

void Notifier::notify_one() {
  if (!waiters_.empty()) wake(*waiters_.front());
}

void Notifier::notify_all() {
  while (!waiters_.empty()) wake(*waiters_.front());
}

Async<void> Notifier::wait(StopToken token) {
  CO_TRY(token.check());
  Waiter waiter;
  StopCallback on_stop(token, [this, &waiter] {
    if (!waiter.listed) return;  // Woken already: the notification counts.
    waiter.cancelled = true;
    wake(waiter);
  });
  co_await Parking{*this, waiter};
  if (waiter.cancelled) co_return cancelled_error();
  co_return {};
}

Async<Wake> Notifier::wait_for(Duration length, StopToken token) {
  CO_TRY(token.check());
  Waiter waiter;
  StopCallback on_stop(token, [this, &waiter] {
    if (!waiter.listed) return;
    waiter.cancelled = true;
    wake(waiter);
  });
  Timer timer(loop_);
  timer.start(length, [this, &waiter] {
    if (!waiter.listed) return;
    waiter.timed_out = true;
    wake(waiter);
  });
  co_await Parking{*this, waiter};
  if (waiter.cancelled) co_return cancelled_error();
  co_return waiter.timed_out ? Wake::kTimeout : Wake::kNotified;
}

void Latch::open() {
  open_ = true;
  changed_.notify_all();
}

Async<void> Latch::wait(StopToken token) {
  while (!open_) {
    CO_TRY(co_await changed_.wait(token));
  }
  co_return {};
}

}  // namespace runnel::async
