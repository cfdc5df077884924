#include "async/gate.h"

#include "base/check.h"

namespace runnel::async {

Gate::~Gate() { CHECK(inside_ == 0, "a gate was destroyed with work inside: await its close()"); }

Result<void> Gate::enter() {
  if (closed_) return cancelled_error();
  ++inside_;
  return {};
}

void Gate::leave() {
  CHECK(inside_ > 0, "more left a gate than entered it");
  --inside_;
  if (inside_ == 0) emptied_.notify_all();
}

Async<void> Gate::close() {
  closed_ = true;
  source_.stop();
  while (inside_ > 0) MUST(co_await emptied_.wait());
  co_return {};
}

}  // namespace runnel::async
