#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "base/result.h"

namespace runnel::async {

namespace detail {
struct StopState;
}  // namespace detail

// The error of work that was stopped: kCancelled. It is passed on like any other error.
Error cancelled_error();

// Tells whether work should stop. Cheap to copy; a default one never stops.
//
// Threads:  the loop's only.
class StopToken {
 public:
  StopToken() = default;
  bool stopped() const;
  // kCancelled once stopped, else ok: `CO_TRY(token.check());`
  Result<void> check() const;

 private:
  friend class StopSource;
  friend class StopCallback;
  explicit StopToken(std::shared_ptr<detail::StopState> state) : state_(std::move(state)) {}

  std::shared_ptr<detail::StopState> state_;  // Shared: a token may outlive its source.
};

// Calls `action` once when the token stops, at once if it has already; forgets it on destruction.
//
// Lifetime: `action` may destroy this object.
class StopCallback {
 public:
  StopCallback() = default;
  StopCallback(const StopToken& token, std::function<void()> action);
  StopCallback(StopCallback&&) = delete;
  ~StopCallback();

 private:
  friend class StopSource;

  std::shared_ptr<detail::StopState> state_;  // Null when there is nothing to be told.
  std::function<void()> action_;
  std::list<StopCallback*>::iterator place_;
  bool linked_ = false;
};

// The side that stops. Linked to a parent it stops when the parent does.
class StopSource {
 public:
  StopSource();
  explicit StopSource(const StopToken& parent);
  StopSource(StopSource&&) = delete;
  ~StopSource();

  void stop();  // Idempotent; calls the callbacks before it returns.
  bool stopped() const;
  StopToken token() const { return StopToken(state_); }

 private:
  std::shared_ptr<detail::StopState> state_;
  std::optional<StopCallback> link_;
};

}  // namespace runnel::async
