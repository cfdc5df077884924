#include "writing/leased_publishing.h"

#include "base/check.h"
#include "volume/kept_session.h"

namespace runnel::writing {

LeasedPublishing::LeasedPublishing(async::EventLoop& loop, volume::Volume& volume, Branch& branch,
                                   Options options)
    : BranchPublishing(loop, volume, branch,
                       {.publishing = std::move(options.publishing),
                        .publisher = {.rebase = options.rebase},
                        .lost = std::move(options.lost)}),
      clock_(options.clock),
      source_(std::move(options.source)),
      rebase_(std::move(options.rebase)),
      tell_recovered_(std::move(options.recovered)) {
  CHECK(!source_.empty(), "a session that does not say whose it is");
}

bool LeasedPublishing::is_over_newest() const {
  return *branch().overlay().base() == volume().head().newest_version();
}

// --- Sessions and leases.

volume::SessionRecord LeasedPublishing::session_record() const {
  volume::SessionRecord who = volume().processes().this_one("mount");
  who.source = source_;
  return who;
}

Async<void> LeasedPublishing::begin_session(async::StopToken stop) {
  volume::SessionRecord who = session_record();
  const bool goes_on = CO_TRY(co_await volume().go_on_writing(who));
  if (!goes_on) CO_TRY(co_await volume().begin_writing(std::move(who)));
  CO_TRY(co_await volume::take_lease(loop(), clock_, volume(), std::move(stop)));
  epoch_ = volume().held_lease()->epoch;
  co_return {};
}

Async<bool> LeasedPublishing::begin_next_session(async::StopToken stop) {
  while (true) {
    const Result<void> begun = co_await begin_session(stop);
    if (begun.ok()) co_return true;
    CO_TRY(stop.check());
    const bool is_leased = begun.error().code == Errc::kConflict && volume().has_session();
    if (is_leased) co_return false;
    if (volume().has_session()) (void)co_await volume().end_session();
    const bool is_deleted = begun.error().code == Errc::kNotFound;
    if (is_deleted) co_return begun.error();
    tell_failed(begun.error());
    // Programs go on meanwhile.
    if (branch().has_failed()) (void)co_await publisher().begin_anew();
    CO_TRY(co_await loop().sleep(kPause, stop));
  }
}

// Where something is set aside, which may take long, that has a session which lives meanwhile.
Async<void> LeasedPublishing::begin(Begins how, async::StopToken stop) {
  CHECK(!volume().has_session() && epoch_ == 0, "it has begun already");
  const bool takes_over = how == Begins::kTakingOver;
  const Result<void> begun = co_await begin_session(stop);
  const bool is_leased =
      !begun.ok() && begun.error().code == Errc::kConflict && volume().has_session();
  if (!is_leased || !takes_over) CO_TRY(Result<void>(begun));
  if (!takes_over) CO_TRY(branch().close_all());
  CO_TRY(co_await publisher().settle());
  if (!is_leased && is_over_newest()) co_return {};
  if (has_changes()) CO_TRY(co_await set_aside(stop));
  if (takes_over) {
    lose();
    co_return co_await volume::release_lease(volume());
  }
  if (!volume().has_session()) CO_TRY(co_await begin_session(stop));
  co_return co_await branch().begin_over(volume().head().newest_version());
}

// It was taken for dead, which may have been long ago: gc may have packed its version anew.
Async<void> LeasedPublishing::go_on(async::StopToken stop) {
  const bool is_leased = CO_TRY(co_await begin_next_session(stop));
  if (is_leased) CO_TRY(co_await publisher().settle());
  if (!is_leased || !is_over_newest()) co_return co_await lose_and_set_aside(std::move(stop));
  co_return co_await rebase();
}

Async<void> LeasedPublishing::rebase() {
  const std::string base = *branch().overlay().base();
  if (base.empty() || volume().head().find(base) == nullptr) co_return {};
  const volume::Snapshot there = CO_TRY(co_await volume().snapshot(base));
  rebase_(there.manifest());
  co_return {};
}

// What cannot be set aside now, since the version is gone that it is over, stays in the log.
Async<void> LeasedPublishing::lose_and_set_aside(async::StopToken stop) {
  lose();
  while (true) {
    const Result<void> done = co_await set_aside(stop);
    CO_TRY(stop.check());
    if (done.ok()) co_return {};
    tell_failed(done.error());
    const bool is_in_vain =
        done.error().code == Errc::kNotFound || done.error().code == Errc::kFull;
    if (is_in_vain) co_return {};
    CO_TRY(co_await loop().sleep(kPause, stop));
  }
}

Async<void> LeasedPublishing::set_aside(async::StopToken stop) {
  if (!volume().has_session()) CO_TRY(co_await volume().begin_writing(session_record()));
  co_return co_await volume::with_session<void>(
      loop(), volume(), keys(), [this](async::StopToken) { return set_aside_in_session(); },
      std::move(stop));
}

Async<void> LeasedPublishing::set_aside_in_session() {
  if (branch().has_failed()) CO_TRY(co_await publisher().begin_anew());
  CO_TRY(branch().commit_all());
  CO_TRY(co_await publisher().settle());
  CO_TRY(co_await rebase());
  std::string tag;
  // What was frozen before becomes a version first, and the rest one that comes of it.
  const auto choose = [this, &tag] {
    const auto found = volume().head().tags.find(tag);
    const bool is_ours =
        found != volume().head().tags.end() && found->second.version == *branch().overlay().base();
    return is_ours ? tag : tag = free_tag();
  };
  if (CO_TRY(co_await publisher().publish_aside("", choose))) {
    recovered_ = volume().name() + "@" + tag;
    tell_recovered_(recovered_);
  }
  co_return co_await volume::release_lease(volume());
}

std::string LeasedPublishing::free_tag() const {
  const std::int64_t epoch = epoch_ > 0 ? epoch_ : volume().head().lease.epoch;
  const std::string first = "recovered-" + std::to_string(epoch);
  std::string tag = first;
  for (int number = 2; volume().head().tags.contains(tag); ++number) {
    tag = first + "-" + std::to_string(number);
  }
  return tag;
}

Error LeasedPublishing::lost_error() const {
  const std::string where = recovered_.empty() ? "what was written is kept in the log"
                                               : "what was written is " + recovered_;
  return Error(Errc::kConflict,
               "volume '" + volume().name() + "' is written to by somebody else by now: " + where)
      .with_value(volume().name());
}

}  // namespace runnel::writing
