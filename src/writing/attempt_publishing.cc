#include "writing/attempt_publishing.h"

#include "base/check.h"

namespace runnel::writing {

AttemptPublishing::AttemptPublishing(async::EventLoop& loop, volume::Volume& volume, Branch& branch,
                                     Options options)
    : BranchPublishing(
          loop, volume, branch,
          {.publishing = std::move(options.publishing),
           .publisher = {.where = Publisher::Where::kBranch, .rebase = std::move(options.rebase)},
           .lost = std::move(options.lost)}),
      writing_(std::move(options.writing)) {}

// From then on it is there in this term, and may not be made another time.
Async<void> AttemptPublishing::begin_branch() {
  CO_TRY(co_await volume::begin_branch(volume(), writing_));
  writing_.is_new = false;
  co_return {};
}

Async<bool> AttemptPublishing::is_over_pinned() {
  const volume::Snapshot pinned = CO_TRY(co_await base());
  co_return pinned.manifest().version == *branch().overlay().base();
}

Async<void> AttemptPublishing::begin(Begins how, async::StopToken /*stop*/) {
  CHECK(!volume().has_session(), "it has begun already");
  // What is in the log was written to a branch that was there.
  if (how == Begins::kTakingOver || has_changes()) writing_.is_new = false;
  CO_TRY(co_await begin_branch());
  if (how == Begins::kAnew) CO_TRY(branch().close_all());
  CO_TRY(co_await publisher().settle());
  if (CO_TRY(co_await is_over_pinned())) co_return {};
  if (has_changes()) co_return lost_error();
  const volume::Snapshot pinned = CO_TRY(co_await base());
  co_return co_await branch().begin_over(pinned.manifest().version);
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
    volume().leave_session();
    if (goes_on.error().code == Errc::kNotFound) co_return goes_on.error();
    tell_failed(goes_on.error());
    CO_TRY(co_await loop().sleep(kPause, stop));
  }
}

// Whether the branch has what was published here, and nothing else.
Async<bool> AttemptPublishing::begin_again() {
  CO_TRY(co_await begin_branch());
  CO_TRY(co_await publisher().settle());
  co_return co_await is_over_pinned();
}

Error AttemptPublishing::lost_error() const {
  return Error(Errc::kConflict, "branch '" + writing_.name + "' of volume '" + volume().name() +
                                    "' has gone on without what was written here, or is no more")
      .with_field("branch")
      .with_value(writing_.name)
      .with_hint("it is in a log below `writing` of the home still; write another branch");
}

}  // namespace runnel::writing
