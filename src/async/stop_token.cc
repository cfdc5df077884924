#include "async/stop_token.h"

#include <utility>

#include "base/check.h"

namespace runnel::async {

namespace detail {

struct StopState {
  bool stopped = false;
  std::list<StopCallback*> callbacks;  // Oldest first.
};

}  // namespace detail

Error cancelled_error() { return Error(Errc::kCancelled, "stopped on request"); }

bool StopToken::stopped() const { return state_ != nullptr && state_->stopped; }

Result<void> StopToken::check() const {
  if (stopped()) return cancelled_error();
  return {};
}

StopCallback::StopCallback(const StopToken& token, std::function<void()> action) {
  if (token.state_ == nullptr) return;
  if (token.stopped()) {
    action();
    return;
  }
  state_ = token.state_;
  action_ = std::move(action);
  place_ = state_->callbacks.insert(state_->callbacks.end(), this);
  linked_ = true;
}

StopCallback::~StopCallback() {
  if (linked_) state_->callbacks.erase(place_);
}

StopSource::StopSource() : state_(std::make_shared<detail::StopState>()) {}

StopSource::StopSource(const StopToken& parent) : StopSource() {
  link_.emplace(parent, [this] { stop(); });
}

StopSource::~StopSource() = default;

void StopSource::stop() {
  // A callback may destroy this source, so only the local reference is used below.
  std::shared_ptr<detail::StopState> state = state_;
  if (std::exchange(state->stopped, true)) return;
  while (!state->callbacks.empty()) {
    StopCallback* callback = state->callbacks.front();
    CHECK(callback->linked_, "a listed stop callback is not linked");
    state->callbacks.pop_front();
    callback->linked_ = false;
    std::function<void()> action = std::move(callback->action_);
    action();
  }
}

bool StopSource::stopped() const { return state_->stopped; }

}  // namespace runnel::async
