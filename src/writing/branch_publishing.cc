#include "writing/branch_publishing.h"

#include <utility>

#include "async/either_stop.h"
#include "async/event.h"
#include "volume/kept_session.h"
#include "writing/refusal.h"

namespace runnel::writing {

BranchPublishing::BranchPublishing(async::EventLoop& loop, volume::Volume& volume, Branch& branch,
                                   Options options)
    : loop_(loop),
      volume_(volume),
      branch_(branch),
      options_(std::move(options)),
      publisher_(loop, volume, branch, options_.publisher),
      publishing_(loop, branch, publisher_, options_.publishing) {}

volume::KeysInUse BranchPublishing::keys() const {
  return [this] { return publisher_.in_use(); };
}

bool BranchPublishing::has_changes() const {
  return branch_.overlay().frozen().has_value() || branch_.overlay().has_to_publish();
}

// Who waits for a publish is told at once.
void BranchPublishing::lose() {
  has_lost_ = true;
  options_.lost();
  publishing_.end();
}

Async<void> BranchPublishing::run(async::StopToken stop) {
  const Result<void> done = co_await publish_in_sessions(std::move(stop));
  publishing_.end();
  co_return done;
}

// One that has lost waits for its end: its files are looked at still.
Async<void> BranchPublishing::publish_in_sessions(async::StopToken stop) {
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

Async<void> BranchPublishing::publish_in_session(async::StopToken stop) {
  const async::EitherStop until(stop, finish_.token());
  const Result<void> done = co_await publishing_.run(until.token());
  CO_TRY(stop.check());
  if (!finish_.token().stopped()) co_return done;
  CO_TRY(branch_.close_all());
  CO_TRY(co_await publishing_.publish_all());
  co_return co_await give_away();
}

// Between two sessions, a publish of the one before may have ended with kConflict.
Async<std::string> BranchPublishing::publish_now() {
  while (!has_lost_) {
    Result<std::string> published = co_await publishing_.publish_now();
    const bool is_between = !published.ok() && published.error().code == Errc::kConflict;
    if (!has_lost_ && !is_between) co_return published;
  }
  co_return lost_error();
}

Async<void> BranchPublishing::room(std::size_t bytes) {
  const Result<void> there = co_await publishing_.room(bytes);
  if (!has_lost_) co_return there;
  co_return refused(Refusal::kReadOnly, "it is written to by somebody else");
}

}  // namespace runnel::writing
