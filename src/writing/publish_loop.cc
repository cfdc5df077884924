#include "writing/publish_loop.h"

#include <utility>

namespace runnel::writing {
namespace {

Error ended() { return {Errc::kCancelled, "nothing is published any more"}; }

}  // namespace

Async<void> PublishLoop::run(async::StopToken stop) {
  Result<void> goes_on;
  while (goes_on.ok()) {
    const bool is_wanted = is_long() || branch_.has_failed() || asked_ > answered_;
    if (!is_wanted) goes_on = co_await wait(stop);
    if (!goes_on.ok()) break;
    const std::uint64_t asked = asked_;
    last_ = co_await publish_once();
    answered_ = asked;
    published_.notify_all();
    if (last_.ok()) continue;
    if (last_.error().code == Errc::kConflict) co_return last_;
    options_.failed(last_.error());
    goes_on = co_await loop_.sleep(options_.every, stop);  // It would fail again at once.
  }
  co_return goes_on;
}

void PublishLoop::end() {
  has_ended_ = true;
  published_.notify_all();
}

Async<void> PublishLoop::wait(async::StopToken stop) {
  CO_TRY(co_await wanted_.wait_for(options_.every, std::move(stop)));
  co_return {};
}

Async<void> PublishLoop::publish_once() {
  if (branch_.has_failed()) CO_TRY(co_await publisher_.begin_anew());
  if (branch_.overlay().has_to_publish() || branch_.overlay().frozen()) {
    CO_TRY(co_await publisher_.publish(""));
  }
  const auto kept = static_cast<std::uint64_t>(options_.log_kept.count());
  const bool is_to_be_short =
      branch_.log_bytes() >= kept || is_long() || branch_.is_short_of_room();
  if (is_to_be_short) CO_TRY(co_await publisher_.begin_anew());
  co_return {};
}

Async<void> PublishLoop::publish_all() {
  if (branch_.has_failed()) CO_TRY(co_await publisher_.begin_anew());
  CO_TRY(co_await publisher_.publish(""));
  co_return {};
}

Async<std::string> PublishLoop::publish_now() {
  const std::uint64_t mine = ++asked_;
  wanted_.notify_one();
  while (answered_ < mine) {
    if (has_ended_) co_return ended();
    CO_TRY(co_await published_.wait());
  }
  CO_TRY(Result<void>(last_));
  co_return *branch_.overlay().base();
}

Async<void> PublishLoop::room(std::size_t bytes) {
  while (branch_.log_bytes() + bytes > log_max()) {
    if (has_ended_) co_return ended();
    wanted_.notify_one();
    CO_TRY(co_await published_.wait());
  }
  co_return {};
}

}  // namespace runnel::writing
