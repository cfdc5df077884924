#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "base/units.h"

namespace runnel::async {

// Work that can be stopped: given a token, begins. A plain function or a lambda that *calls* a
// coroutine; never a capturing lambda that is one.
template <typename T>
using Stoppable = std::function<Async<T>(StopToken)>;

// The first of several to end, and its result.
template <typename T>
struct Raced {
  std::size_t winner = 0;
  Result<T> result;
};

// Runs all, and when the first has ended stops the others and waits for them too, so that nothing
// outlives the call. The results of the losers are dropped. `parent` stops all of them.
template <typename T>
Async<Raced<T>> race(EventLoop& loop, std::vector<Stoppable<T>> runners, StopToken parent = {});

// Runs all and waits for all; their values in order, or the first error in that order.
template <typename T>
Async<std::vector<T>> when_all(EventLoop& loop, std::vector<Async<T>> works);
Async<void> when_all(EventLoop& loop, std::vector<Async<void>> works);

// The work's result, or kTimeout when it takes longer than `length`; it is then stopped and waited
// for.
template <typename T>
Async<T> with_timeout(EventLoop& loop, Duration length, Stoppable<T> work, StopToken parent = {});

}  // namespace runnel::async

#include "async/detail/together_impl.h"
