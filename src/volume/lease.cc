#include "volume/lease.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "volume/seen_session.h"

namespace runnel::volume {
namespace {

class Taking {
 public:
  Taking(async::EventLoop& loop, env::Clock& clock, Volume& volume, async::StopToken stop)
      : loop_(loop), clock_(clock), volume_(volume), stop_(std::move(stop)) {}

  Async<void> run() {
    for (int tries = 0; tries < HeadRegister::kTriesMax; ++tries) {
      CO_TRY(co_await volume_.refresh());
      const Lease lease = volume_.head().lease;
      const std::string mine = volume_.session_name();
      if (lease.session == mine) co_return hold(lease);
      if (!lease.session.empty() && CO_TRY(co_await is_held(lease))) continue;
      if (volume_.head().lease != lease) continue;
      const Lease next{lease.epoch + 1, mine};
      (void)CO_TRY(co_await volume_.swap_head(with_lease(volume_.head(), next)));
      // An answer may have been lost.
      if (volume_.head().lease == next) co_return hold(next);
    }
    co_return HeadRegister::changes_too_fast(volume_.name());
  }

 private:
  Result<void> hold(const Lease& lease) {
    volume_.hold_lease(lease);
    return {};
  }

  // False once nobody has it. An error while the holder lives.
  Async<bool> is_held(Lease lease) {
    const std::optional<SeenSession> seen = CO_TRY(co_await volume_.see_session(lease.session));
    if (!seen || has_said_so(*seen)) co_return false;
    const bool has_ended = seen->record && volume_.processes().has_ended(*seen->record);
    if (!has_ended) {
      const auto living = CO_TRY(co_await changed(lease, *seen));
      if (living) co_return is_leased(volume_.name(), *living);
    }
    (void)CO_TRY(co_await remove_session(volume_.store(), *seen, stop_));
    const auto still = CO_TRY(co_await volume_.see_session(lease.session));
    co_return still && !has_said_so(*still);
  }

  static bool has_said_so(const SeenSession& session) {
    return session.record && session.record->kind == kEndedKind;
  }

  // What the session says once it has changed; none where it has stood still for long enough, or
  // has ended. What counts is when a look began: this process may be stopped, too, before it has
  // the answer. Meanwhile this one's own session lives.
  Async<std::optional<SessionRecord>> changed(Lease lease, SeenSession seen) {
    const Duration until = clock_.boot() + Session::kTtl;
    for (bool is_last = false; !is_last;) {
      const Duration left = std::max(until - clock_.boot(), Duration());
      CO_TRY(co_await loop_.sleep(std::min(left, kLookEvery), stop_));
      is_last = clock_.boot() >= until;
      const auto now = CO_TRY(co_await volume_.see_session(lease.session));
      if (!now || has_said_so(*now)) break;
      if (now->bytes != seen.bytes && now->record) co_return now->record;
      CO_TRY(co_await volume_.keep_session([] { return std::set<std::string>(); }));
    }
    co_return std::optional<SessionRecord>();
  }

  static constexpr Duration kLookEvery = Duration::seconds(2);

  async::EventLoop& loop_;
  env::Clock& clock_;
  Volume& volume_;
  const async::StopToken stop_;
};

}  // namespace

Async<void> take_lease(async::EventLoop& loop, env::Clock& clock, Volume& volume,
                       async::StopToken stop) {
  Taking taking(loop, clock, volume, std::move(stop));
  co_return co_await taking.run();
}

Async<void> release_lease(Volume& volume) {
  const std::optional<Lease> held = volume.held_lease();
  if (!held) co_return {};
  const Result<void> released = co_await volume.change_head([&](const Head& now) -> Result<Head> {
    if (now.lease != *held) return now;  // It was taken away.
    return with_lease(now, Lease{held->epoch, ""});
  });
  volume.drop_lease();
  co_return released;
}

}  // namespace runnel::volume
