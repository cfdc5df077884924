#include "volume/kept_session.h"

namespace runnel::volume::detail {

Async<void> keep_session(async::EventLoop& loop, Volume& volume, KeysInUse keys,
                         async::StopToken stop) {
  while (true) {
    CO_TRY(co_await loop.sleep(Session::kBeat, stop));
    const Result<void> kept = co_await volume.keep_session(keys);
    if (kept.ok()) continue;
    const bool is_deleted = kept.error().code == Errc::kNotFound && volume.head().is_gone;
    if (kept.error().code == Errc::kConflict || is_deleted) co_return kept;
    // A store that does not answer may answer the next time.
  }
}

}  // namespace runnel::volume::detail
