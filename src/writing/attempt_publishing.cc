#include "writing/attempt_publishing.h"

#include "async/either_stop.h"
#include "async/event.h"
#include "base/check.h"
#include "volume/kept_session.h"
#include "writing/refusal.h"

namespace runnel::writing {
namespace {

constexpr Duration kRetryPause =
    Duration::seconds(1);  // Before a store that failed is asked again.

}  // namespace

AttemptPublishing::AttemptPublishing(async::EventLoop& loop, volume::Volume& volume, Branch& branch,
                                     Options options)
    : loop_(loop),
      volume_(volume),
      branch_(branch),
      options_(std::move(options)),
      publisher_(loop, volume, branch,
                 {.where = Publisher::Where::kBranch, .rebase = options_.rebase}),
      publishing_(loop, branch, publisher_, options_.publishing) {}

volume::KeysInUse AttemptPublishing::keys() const {
  return [this] { return publisher_.in_use(); };
}

// From then on it is there in this term, and may not be made another time.
Async<void> AttemptPublishing::begin_branch() {
  CO_TRY(co_await volume::begin_branch(volume_, options_.writing));
  options_.writing.is_new = false;
  co_return {};
}

bool AttemptPublishing::has_changes() const {
  return branch_.overlay().frozen().has_value() || branch_.overlay().has_to_publish();
}

Async<bool> AttemptPublishing::is_over_pinned() {
  const volume::Snapshot pinned = CO_TRY(co_await base());
  co_return pinned.manifest().version == *branch_.overlay().base();
}

Async<void> AttemptPublishing::begin(Begins how, async::StopToken /*stop*/) {
  CHECK(!volume_.has_session(), "it has begun already");
  // What is in the log was written to a branch that was there.
  if (how == Begins::kTakingOver || has_changes()) options_.writing.is_new = false;
  CO_TRY(co_await begin_branch());
  if (how == Begins::kAnew) CO_TRY(branch_.close_all());
  CO_TRY(co_await publisher_.settle());
  if (CO_TRY(co_await is_over_pinned())) co_return {};
  if (has_changes()) co_return is_lost();
  const volume::Snapshot pinned = CO_TRY(co_await base());
  co_return co_await branch_.begin_over(pinned.manifest().version);
}

Async<void> AttemptPublishing::run(async::StopToken stop) {
  const Result<void> done = co_await publish_in_sessions(std::move(stop));
  publishing_.end();
  co_return done;
}

Async<void> AttemptPublishing::publish_in_sessions(async::StopToken stop) {
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
  async::Notifier never(loop_);
  const async::EitherStop until(stop, finish_.token());
  const Result<void> waited = co_await never.wait(until.token());
  CO_TRY(stop.check());
  co_return {};
}

Async<void> AttemptPublishing::publish_in_session(async::StopToken stop) {
  const async::EitherStop until(stop, finish_.token());
  const Result<void> done = co_await publishing_.run(until.token());
  CO_TRY(stop.check());
  if (!finish_.token().stopped()) co_return done;
  CO_TRY(branch_.close_all());
  CO_TRY(co_await publishing_.publish_all());
  co_return co_await volume_.seal_branch(keys());
}

// Its session was not heard of for long; or it is another one's by now.
Async<void> AttemptPublishing::go_on(async::StopToken stop) {
  while (true) {
    const Result<bool> goes_on = co_await begin_again();
    CO_TRY(stop.check());
    if (goes_on.ok() && *goes_on) co_return {};
    const bool is_anothers = goes_on.ok() || goes_on.error().code == Errc::kConflict;
    if (is_anothers) {
      lose();
      co_return {};
    }
    volume_.leave_session();
    if (goes_on.error().code == Errc::kNotFound) co_return goes_on.error();
    options_.publishing.failed(goes_on.error());
    CO_TRY(co_await loop_.sleep(kRetryPause, stop));
  }
}

// Whether the branch has what was published here, and nothing else.
Async<bool> AttemptPublishing::begin_again() {
  CO_TRY(co_await begin_branch());
  CO_TRY(co_await publisher_.settle());
  co_return co_await is_over_pinned();
}

void AttemptPublishing::lose() {
  has_lost_ = true;
  options_.lost();
}

Error AttemptPublishing::is_lost() const {
  return Error(Errc::kConflict, "branch '" + options_.writing.name + "' of volume '" +
                                    volume_.name() +
                                    "' has gone on without what was written here, or is no more")
      .with_field("branch")
      .with_value(options_.writing.name)
      .with_hint("it is in a log below `writing` of the home still; write another branch");
}

Async<std::string> AttemptPublishing::publish_now() {
  while (!has_lost_) {
    Result<std::string> published = co_await publishing_.publish_now();
    const bool is_between = !published.ok() && published.error().code == Errc::kConflict;
    if (!has_lost_ && !is_between) co_return published;
  }
  co_return is_lost();
}

Async<void> AttemptPublishing::room(std::size_t bytes) {
  const Result<void> there = co_await publishing_.room(bytes);
  if (!has_lost_) co_return there;
  co_return refused(Refusal::kReadOnly, "the branch is written to by somebody else");
}

}  // namespace runnel::writing
