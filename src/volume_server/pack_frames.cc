#include "volume_server/pack_frames.h"

namespace runnel::volume_server {

Async<void> read_whole(async::Stream& stream, std::span<char> into) {
  while (!into.empty()) {
    const std::size_t got = CO_TRY(co_await stream.read_some(into));
    if (got == 0) co_return Error(Errc::kUnavailable, "the other end is gone");
    into = into.subspan(got);
  }
  co_return {};
}

}  // namespace runnel::volume_server
