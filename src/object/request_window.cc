#include "object/request_window.h"

#include <algorithm>

#include "base/check.h"

namespace runnel::object {

Async<void> RequestWindow::enter(async::StopToken stop) {
  while (inside_ >= allowed()) CO_TRY(co_await left_.wait(stop));
  ++inside_;
  co_return {};
}

void RequestWindow::leave() {
  CHECK(inside_ > 0, "a request leaves the window twice");
  --inside_;
  left_.notify_one();
}

void RequestWindow::succeeded() {
  const int before = allowed();
  allowed_ = std::min<double>(most_, allowed_ + 1 / allowed_);
  if (allowed() > before) left_.notify_one();
}

void RequestWindow::congested() { allowed_ = std::max(1.0, allowed_ / 2); }

}  // namespace runnel::object
