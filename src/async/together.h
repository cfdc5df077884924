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

// The bodies of the templates.

namespace detail {

// Lives in the frame of race(), which waits for everyone who refers to it.
template <typename T>
struct RaceState {
  RaceState(EventLoop& loop, const StopToken& parent) : stop(parent), gate(loop) {}

  StopSource stop;
  std::optional<Raced<T>> first;
  Gate gate;
};

template <typename T>
Async<void> race_one(RaceState<T>& state, std::size_t index, Async<T> work) {
  Result<T> result = co_await std::move(work);
  if (!state.first.has_value()) {
    state.first.emplace(Raced<T>{index, std::move(result)});
    state.stop.stop();
  }
  co_return {};
}

template <typename T>
Async<void> store_result(std::optional<Result<T>>& place, Async<T> work) {
  place.emplace(co_await std::move(work));
  co_return {};
}

template <typename T>
Async<T> fail_after(EventLoop& loop, Duration length, StopToken token) {
  CO_TRY(co_await loop.sleep(length, token));
  co_return Error(Errc::kTimeout, "no result within " + to_string(length));
}

}  // namespace detail

template <typename T>
Async<Raced<T>> race(EventLoop& loop, std::vector<Stoppable<T>> runners, StopToken parent) {
  CHECK(!runners.empty(), "a race needs a runner");
  detail::RaceState<T> state(loop, parent);
  for (std::size_t index = 0; index < runners.size(); ++index) {
    Async<T> work = runners[index](state.stop.token());
    MUST(loop.spawn(state.gate, detail::race_one(state, index, std::move(work))));
  }
  MUST(co_await state.gate.close());
  co_return *std::move(state.first);
}

template <typename T>
Async<std::vector<T>> when_all(EventLoop& loop, std::vector<Async<T>> works) {
  std::vector<std::optional<Result<T>>> results(works.size());
  Gate gate(loop);
  for (std::size_t index = 0; index < works.size(); ++index) {
    MUST(loop.spawn(gate, detail::store_result(results[index], std::move(works[index]))));
  }
  MUST(co_await gate.close());
  std::vector<T> values;
  values.reserve(results.size());
  for (std::optional<Result<T>>& result : results) {
    CHECK(result.has_value(), "work left the gate without a result");
    values.push_back(CO_TRY(*std::move(result)));
  }
  co_return values;
}

template <typename T>
Async<T> with_timeout(EventLoop& loop, Duration length, Stoppable<T> work, StopToken parent) {
  std::vector<Stoppable<T>> runners;
  runners.push_back(std::move(work));
  runners.push_back([&loop, length](StopToken token) {
    return detail::fail_after<T>(loop, length, std::move(token));
  });
  Raced<T> raced = MUST(co_await race<T>(loop, std::move(runners), std::move(parent)));
  co_return std::move(raced.result);
}

}  // namespace runnel::async
