#include "control/api/home_disk.h"

#include "base/check.h"

namespace runnel::control {

std::optional<Silence> HomeDisk::silence() const {
  const std::optional<Duration> silent = controller_.disk_silent_for();
  if (!silent || *silent < patience_) return std::nullopt;
  const Time since = controller_.clock().wall() - *silent;
  if (const std::optional<Error>& error = controller_.log_opening_error()) {
    return Silence{"the event log of the home " + host_.info().home + " cannot be opened since " +
                       rfc3339(since) + ": " + error->message,
                   "see what its disk says: dmesg; it is tried again each second, and work goes on "
                   "by itself when it can be opened"};
  }
  return Silence{
      "the disk of the home " + host_.info().home + " has not answered since " + rfc3339(since),
      "see whether it answers: dmesg; a file system that was frozen: fsfreeze --unfreeze; nothing "
      "is lost, and work goes on by itself when it does"};
}

Async<HomeDisk::State> HomeDisk::look() const {
  CHECK(host_.room, "nobody knows how full the disk of the home is");
  State state;
  state.silent = silence();
  if (state.silent) co_return state;
  const Result<std::optional<Silence>> lack = co_await host_.room();
  if (lack.ok()) {
    state.full = *lack;
  } else if (lack.error().code == Errc::kUnavailable) {
    state.silent = Silence{lack.error().message, lack.error().hint};
  }
  co_return state;
}

}  // namespace runnel::control
