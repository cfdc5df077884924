#include "writing/leased_publishing.h"

#include "async/either_stop.h"
#include "async/event.h"
#include "base/check.h"
#include "volume/kept_session.h"
#include "volume/lease.h"
#include "writing/refusal.h"

namespace runnel::writing {
namespace {

constexpr Duration kPause = Duration::seconds(1);  // Before a store that failed is asked again.

}  // namespace

LeasedPublishing::LeasedPublishing(async::EventLoop& loop, volume::Volume& volume, Branch& branch,
                                   Options options)
    : loop_(loop),
      volume_(volume),
      branch_(branch),
      options_(std::move(options)),
      publisher_(loop, volume, branch, {.rebase = options_.rebase}),
      publishing_(loop, branch, publisher_, options_.publishing) {
  CHECK(!options_.source.empty(), "a session that does not say whose it is");
}

volume::KeysInUse LeasedPublishing::keys() const {
  return [this] { return publisher_.in_use(); };
}

bool LeasedPublishing::is_over_newest() const {
  return *branch_.overlay().base() == volume_.head().newest_version();
}

bool LeasedPublishing::has_changes() const {
  return branch_.overlay().frozen().has_value() || branch_.overlay().has_to_publish();
}

// --- Sessions and leases.

volume::SessionRecord LeasedPublishing::session_record() const {
  volume::SessionRecord who = volume_.processes().this_one("mount");
  who.source = options_.source;
  return who;
}

Async<void> LeasedPublishing::begin_session(async::StopToken stop) {
  volume::SessionRecord who = session_record();
  const bool goes_on = CO_TRY(co_await volume_.go_on_writing(who));
  if (!goes_on) CO_TRY(co_await volume_.begin_writing(std::move(who)));
  CO_TRY(co_await volume::take_lease(loop_, options_.clock, volume_, std::move(stop)));
  epoch_ = volume_.held_lease()->epoch;
  co_return {};
}

Async<bool> LeasedPublishing::begin_next_session(async::StopToken stop) {
  while (true) {
    const Result<void> begun = co_await begin_session(stop);
    if (begun.ok()) co_return true;
    CO_TRY(stop.check());
    const bool is_leased = begun.error().code == Errc::kConflict && volume_.has_session();
    if (is_leased) co_return false;
    if (volume_.has_session()) (void)co_await volume_.end_session();
    const bool is_deleted = begun.error().code == Errc::kNotFound;
    if (is_deleted) co_return begun.error();
    options_.publishing.failed(begun.error());
    // Programs go on meanwhile.
    if (branch_.has_failed()) (void)co_await publisher_.begin_anew();
    CO_TRY(co_await loop_.sleep(kPause, stop));
  }
}

// Where something is set aside, which may take long, that has a session which lives meanwhile.
Async<void> LeasedPublishing::begin(Begins how, async::StopToken stop) {
  CHECK(!volume_.has_session() && epoch_ == 0, "it has begun already");
  const bool takes_over = how == Begins::kTakingOver;
  const Result<void> begun = co_await begin_session(stop);
  const bool is_leased =
      !begun.ok() && begun.error().code == Errc::kConflict && volume_.has_session();
  if (!is_leased || !takes_over) CO_TRY(Result<void>(begun));
  if (!takes_over) CO_TRY(branch_.close_all());
  CO_TRY(co_await publisher_.settle());
  if (!is_leased && is_over_newest()) co_return {};
  if (has_changes()) CO_TRY(co_await set_aside(stop));
  if (takes_over) {
    has_lost_ = true;
    options_.lost();
    co_return co_await volume::release_lease(volume_);
  }
  if (!volume_.has_session()) CO_TRY(co_await begin_session(stop));
  co_return co_await branch_.begin_over(volume_.head().newest_version());
}

// --- Publishing.

Async<void> LeasedPublishing::run(async::StopToken stop) {
  CHECK(has_lost_ || volume_.held_lease(), "a branch is published without a lease");
  const Result<void> done = co_await publish_in_sessions(std::move(stop));
  publishing_.end();
  co_return done;
}

Async<void> LeasedPublishing::publish_in_sessions(async::StopToken stop) {
  while (!has_lost_) {
    const Result<void> done = co_await volume::with_session<void>(
        loop_, volume_, keys(),
        [this](async::StopToken token) { return publish_in_session(std::move(token)); }, stop);
    CO_TRY(stop.check());
    const bool is_lost = !done.ok() && done.error().code == Errc::kConflict;
    if (!is_lost) co_return done;
    CO_TRY(co_await go_on(stop));
  }
  publishing_.end();
  if (volume_.has_session()) (void)co_await volume_.end_session();
  async::Notifier never(loop_);
  const async::EitherStop until(stop, finish_.token());
  const Result<void> waited = co_await never.wait(until.token());
  CO_TRY(stop.check());
  co_return {};
}

Async<void> LeasedPublishing::publish_in_session(async::StopToken stop) {
  const async::EitherStop until(stop, finish_.token());
  const Result<void> done = co_await publishing_.run(until.token());
  CO_TRY(stop.check());
  if (!finish_.token().stopped()) co_return done;
  co_return co_await publish_rest();
}

Async<void> LeasedPublishing::publish_rest() {
  CO_TRY(branch_.close_all());
  CO_TRY(co_await publishing_.publish_all());
  co_return co_await volume::release_lease(volume_);
}

// It was taken for dead, which may have been long ago: gc may have packed its version anew.
Async<void> LeasedPublishing::go_on(async::StopToken stop) {
  const bool is_leased = CO_TRY(co_await begin_next_session(stop));
  if (is_leased) CO_TRY(co_await publisher_.settle());
  if (!is_leased || !is_over_newest()) co_return co_await lose(std::move(stop));
  co_return co_await rebase();
}

Async<void> LeasedPublishing::rebase() {
  const std::string base = *branch_.overlay().base();
  if (base.empty() || volume_.head().find(base) == nullptr) co_return {};
  const volume::Snapshot there = CO_TRY(co_await volume_.snapshot(base));
  options_.rebase(there.manifest());
  co_return {};
}

// What cannot be set aside now, since the version is gone that it is over, stays in the log.
Async<void> LeasedPublishing::lose(async::StopToken stop) {
  has_lost_ = true;
  options_.lost();
  publishing_.end();
  while (true) {
    const Result<void> done = co_await set_aside(stop);
    CO_TRY(stop.check());
    if (done.ok()) co_return {};
    options_.publishing.failed(done.error());
    const bool is_in_vain =
        done.error().code == Errc::kNotFound || done.error().code == Errc::kFull;
    if (is_in_vain) co_return {};
    CO_TRY(co_await loop_.sleep(kPause, stop));
  }
}

Async<void> LeasedPublishing::set_aside(async::StopToken stop) {
  if (!volume_.has_session()) CO_TRY(co_await volume_.begin_writing(session_record()));
  co_return co_await volume::with_session<void>(
      loop_, volume_, keys(), [this](async::StopToken) { return set_aside_in_session(); },
      std::move(stop));
}

Async<void> LeasedPublishing::set_aside_in_session() {
  if (branch_.has_failed()) CO_TRY(co_await publisher_.begin_anew());
  CO_TRY(branch_.commit_all());
  CO_TRY(co_await publisher_.settle());
  CO_TRY(co_await rebase());
  std::string tag;
  // What was frozen before becomes a version first, and the rest one that comes of it.
  const auto choose = [this, &tag] {
    const auto found = volume_.head().tags.find(tag);
    const bool is_ours =
        found != volume_.head().tags.end() && found->second.version == *branch_.overlay().base();
    return is_ours ? tag : tag = free_tag();
  };
  if (CO_TRY(co_await publisher_.publish_aside("", choose))) {
    recovered_ = volume_.name() + "@" + tag;
    options_.recovered(recovered_);
  }
  co_return co_await volume::release_lease(volume_);
}

std::string LeasedPublishing::free_tag() const {
  const std::int64_t epoch = epoch_ > 0 ? epoch_ : volume_.head().lease.epoch;
  const std::string first = "recovered-" + std::to_string(epoch);
  std::string tag = first;
  for (int number = 2; volume_.head().tags.contains(tag); ++number) {
    tag = first + "-" + std::to_string(number);
  }
  return tag;
}

// --- What others ask for.

// Between two sessions, a publish of the one before may have ended with kConflict.
Async<std::string> LeasedPublishing::publish_now() {
  while (!has_lost_) {
    Result<std::string> published = co_await publishing_.publish_now();
    const bool is_between = !published.ok() && published.error().code == Errc::kConflict;
    if (!has_lost_ && !is_between) co_return published;
  }
  const std::string where = recovered_.empty() ? "what was written is kept in the log"
                                               : "what was written is " + recovered_;
  co_return Error(Errc::kConflict,
                  "volume '" + volume_.name() + "' is written to by somebody else by now: " + where)
      .with_value(volume_.name());
}

Async<void> LeasedPublishing::room(std::size_t bytes) {
  const Result<void> there = co_await publishing_.room(bytes);
  if (!has_lost_) co_return there;
  co_return refused(Refusal::kReadOnly, "the volume is written to by somebody else");
}

}  // namespace runnel::writing
