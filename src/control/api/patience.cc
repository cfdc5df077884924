#include "control/api/patience.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/event.h"
#include "base/check.h"

namespace runnel::control {
namespace {

// Requests that need no answer of the disk get this long even when it has been silent for long.
constexpr Duration kGrace = Duration::millis(250);

// What was asked for is with the disk already, and cannot be taken back.
Error disk_is_silent(const Silence& silence, const std::string& home) {
  return Error(Errc::kUnavailable, silence.message)
      .with_value(home)
      .with_hint(silence.remedy +
                 "; what you asked for may be done then: look before you ask again");
}

}  // namespace

// A request, whether or not somebody still waits for its answer.
struct Patience::Pending {
  explicit Pending(async::EventLoop& loop) : answered(loop) {}

  std::optional<Result<http::Reply>> reply;
  bool left = false;  // Nobody waits any more.
  async::Notifier answered;
};

Async<void> Patience::go_on(std::shared_ptr<Pending> pending, const Handle* handle, Ask ask) {
  pending->reply = co_await (*handle)(std::move(ask));
  if (pending->left) --unanswered_;
  pending->answered.notify_all();
  co_return {};
}

Async<http::Reply> Patience::wait_for(const Handle* handle, Ask ask) {
  CHECK(handle != nullptr, "a request that nobody handles");
  CHECK(unanswered_ >= 0, "more requests were answered than left waiting");
  if (unanswered_ >= kUnansweredMax) {
    if (const auto silence = disk_.silence()) {
      co_return disk_is_silent(*silence, host_.info().home);
    }
  }
  const auto pending = std::make_shared<Pending>(loop_);
  // tidy: allow(coroutine-detached) a handler is of the table, which outlives the gate.
  CO_TRY(loop_.spawn(gate_, go_on(pending, handle, std::move(ask))));
  while (!pending->reply) {
    const Duration silent = controller_.disk_silent_for().value_or(Duration());
    Result<async::Wake> woken =
        co_await pending->answered.wait_for(std::max(disk_.patience() - silent, kGrace));
    CHECK(woken.ok(), "a wait without a token was stopped");
    if (pending->reply) break;
    if (const auto silence = disk_.silence()) {
      pending->left = true;
      ++unanswered_;
      co_return disk_is_silent(*silence, host_.info().home);
    }
  }
  co_return *std::move(pending->reply);
}

// A request that was left waiting would else wait for a log that nobody can open.
Async<void> Patience::stop() {
  controller_.give_up();
  co_return co_await gate_.close();
}

}  // namespace runnel::control
