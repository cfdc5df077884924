#include "volume/kept_session.h"

namespace runnel::volume::detail {

Async<void> keep_session(async::EventLoop& loop, Volume& volume, KeysInUse keys,
                         async::StopToken stop) {
  while (true) {
    CO_TRY(co_await loop.sleep(Session::kBeat, stop));
    const Result<void> kept = co_await volume.keep_session(keys);
    // A store that does not answer may answer the next time.
    if (!kept.ok() && kept.error().code == Errc::kConflict) co_return kept;
  }
}

}  // namespace runnel::volume::detail
