#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "async/event.h"
#include "base/check.h"
#include "control/api.h"

namespace runnel::control {
namespace {

// What needs no answer of the disk gets this long even when the disk has been silent for long.
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
struct Api::Pending {
  explicit Pending(async::EventLoop& loop) : answered(loop) {}

  std::optional<Result<http::Reply>> reply;
  bool left = false;  // Nobody waits any more.
  async::Notifier answered;
};

std::optional<Silence> Api::disk_silence() const {
  const std::optional<Duration> silent = controller_.disk_silent_for();
  if (!silent || *silent < disk_patience_) return std::nullopt;
  const Time since = controller_.clock().wall() - *silent;
  return Silence{
      "the disk of the home " + host_.info().home + " has not answered since " + rfc3339(since),
      "see whether it answers: dmesg; a file system that was frozen: fsfreeze --unfreeze; nothing "
      "is lost, and work goes on by itself when it does"};
}

Async<Api::DiskState> Api::disk_state() const {
  CHECK(host_.room, "nobody knows how full the disk of the home is");
  DiskState state;
  state.silent = disk_silence();
  if (state.silent) co_return state;
  const Result<std::optional<Silence>> lack = co_await host_.room();
  if (lack.ok()) {
    state.full = *lack;
  } else if (lack.error().code == Errc::kUnavailable) {
    state.silent = Silence{lack.error().message, lack.error().hint};
  }
  co_return state;
}

Async<void> Api::go_on(std::shared_ptr<Pending> pending, Handle handle, http::Request request) {
  pending->reply = co_await (this->*handle)(std::move(request));
  if (pending->left) --unanswered_;
  pending->answered.notify_all();
  co_return {};
}

// The handler is never cut short: it may have stored secrets that it must wipe, or have a decision
// under way that becomes durable later.
Async<http::Reply> Api::patiently(Handle handle, http::Request request) {
  if (unanswered_ >= kUnansweredMax) {
    if (const auto silence = disk_silence()) {
      co_return disk_is_silent(*silence, host_.info().home);
    }
  }
  const auto pending = std::make_shared<Pending>(loop_);
  CO_TRY(loop_.spawn(gate_, go_on(pending, handle, std::move(request))));
  while (!pending->reply) {
    const Duration silent = controller_.disk_silent_for().value_or(Duration());
    Result<async::Wake> woken =
        co_await pending->answered.wait_for(std::max(disk_patience_ - silent, kGrace));
    CHECK(woken.ok(), "a wait without a token was stopped");
    if (pending->reply) break;
    if (const auto silence = disk_silence()) {
      pending->left = true;
      ++unanswered_;
      co_return disk_is_silent(*silence, host_.info().home);
    }
  }
  co_return *std::move(pending->reply);
}

// Who was left waiting would else wait for a log that nobody can open.
Async<void> Api::stop() {
  controller_.give_up();
  co_return co_await gate_.close();
}

}  // namespace runnel::control
