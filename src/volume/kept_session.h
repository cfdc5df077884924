#pragma once

#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/together.h"
#include "volume/volume.h"

namespace runnel::volume {

namespace detail {

// Until it is stopped, the session was taken for dead, or the volume is no more.
Async<void> keep_session(async::EventLoop& loop, Volume& volume, KeysInUse keys,
                         async::StopToken stop);

template <typename T>
Async<T> keep_until_lost(async::EventLoop& loop, Volume& volume, KeysInUse keys,
                         async::StopToken stop) {
  CO_TRY(co_await keep_session(loop, volume, std::move(keys), std::move(stop)));
  co_return Error(Errc::kCancelled, "stopped");
}

}  // namespace detail

// Does the work while the volume's session is kept alive, and ends the session afterwards. The work
// is stopped when the session was taken for dead: kConflict. Or the volume was deleted: kNotFound.
template <typename T>
Async<T> with_session(async::EventLoop& loop, Volume& volume, KeysInUse keys,
                      async::Stoppable<T> work, async::StopToken stop) {
  std::vector<async::Stoppable<T>> runners;
  runners.push_back(std::move(work));
  runners.push_back([&loop, &volume, keys](async::StopToken token) {
    return detail::keep_until_lost<T>(loop, volume, keys, std::move(token));
  });
  async::Raced<T> raced = MUST(co_await async::race<T>(loop, std::move(runners), std::move(stop)));
  if (!raced.result.ok()) {
    const Result<void> why = co_await volume.explain(raced.result.error(), keys);
    raced.result = why.error();
  }
  (void)co_await volume.end_session();  // What is left of it ends by itself; the work is done.
  co_return std::move(raced.result);
}

}  // namespace runnel::volume
