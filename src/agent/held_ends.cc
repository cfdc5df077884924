#include "agent/held_ends.h"

#include <algorithm>
#include <csignal>

#include "async/either_stop.h"
#include "base/check.h"
#include "runner/report_text.h"

namespace runnel::agent {
namespace {

bool has_ended_well(const model::RankReport& report) {
  return report.cause == model::EndCause::kExited && report.code == 0 && report.signal == 0;
}

runner::RankFact running(runner::RankFact fact) {
  model::RankReport report;
  report.attempt = fact.report.attempt;
  report.rank = fact.report.rank;
  report.started_at = fact.report.started_at;
  fact.report = std::move(report);
  fact.state = runner::RankFact::State::kRunning;
  return fact;
}

// One that ended well and has not written all has not ended well.
void mark_unfinished(model::RankReport& report, model::EndCause cause, const std::string& why) {
  if (!has_ended_well(report)) return;
  report.cause = cause;
  (cause == model::EndCause::kExited ? report.code : report.signal) =
      cause == model::EndCause::kExited ? 1 : SIGKILL;
  report.message =
      runner::report_text("exited with code 0, and what it wrote is not in its volume: " + why);
}

}  // namespace

HeldEnds::HeldEnds(async::EventLoop& loop, env::Clock& clock, Preparer& preparer, async::Gate& gate,
                   Host host)
    : loop_(loop), clock_(clock), preparer_(preparer), gate_(gate), host_(std::move(host)) {}

HeldEnds::EndPtr HeldEnds::hold(const runner::RankFact& fact) {
  const runner::AttemptOnNode of{fact.node, fact.report.attempt};
  const model::StartOrder* const order = preparer_.unfinished(of);
  const bool may_be = fact.state == runner::RankFact::State::kEnded && order != nullptr &&
                      fact.report.cause != model::EndCause::kNotStarted && host_.is_ours(fact.node);
  if (!may_be) return nullptr;
  const auto [place, is_new] = ends_.try_emplace({of, fact.report.rank});
  if (!is_new) return place->second;
  const EndPtr end = place->second = std::make_shared<End>(loop_, fact);
  if (!has_ended_well(fact.report)) {
    limit(end, order->grace, model::EndCause::kStopped);
  } else if (order->max_duration != Duration()) {
    const Duration ran = clock_.wall() - fact.report.started_at;
    limit(end, std::max(order->max_duration - ran, Duration()), model::EndCause::kTimeout);
  }
  if (const auto stop = stops_.find(of); stop != stops_.end()) {
    limit(end, std::max(stop->second - clock_.boot(), Duration()), model::EndCause::kStopped);
  }
  host_.held(fact);
  (void)loop_.spawn(gate_, finish(end));
  return end;
}

// What ends earlier holds. What stands still in its store is waited for no longer.
void HeldEnds::limit(const EndPtr& end, Duration patience, model::EndCause then) {
  const Duration until = clock_.boot() + patience;
  if (end->until != Duration() && end->until <= until) return;
  end->until = until;
  end->patience.start(patience, [this, weak = std::weak_ptr(end), then] {
    const EndPtr late = weak.lock();
    CHECK(late != nullptr, "the patience with an end outlives it");
    late->give_up.stop();
    if (late->is_finished) return;
    mark_unfinished(late->fact.report, then, "there was no time for it");
    conclude(late);
  });
}

Async<void> HeldEnds::finish(EndPtr end) {
  const async::EitherStop until(end->give_up.token(), gate_.token());
  const runner::AttemptOnNode of{end->fact.node, end->fact.report.attempt};
  const Result<void> done = co_await preparer_.finish(of, end->fact.report.rank, until.token());
  CO_TRY(gate_.token().check());
  if (end->give_up.token().stopped()) co_return {};  // It is told.
  if (!done.ok()) mark_unfinished(end->fact.report, model::EndCause::kExited, done.error().message);
  conclude(end);
  co_return {};
}

void HeldEnds::conclude(const EndPtr& end) {
  CHECK(!end->is_finished, "an end is told twice");
  end->patience.cancel();
  end->is_finished = true;
  host_.tell(end->fact);
}

void HeldEnds::take_from(std::vector<runner::RankFact>& news) {
  std::erase_if(news, [this](runner::RankFact& fact) {
    const bool is_held = ends_.contains({{fact.node, fact.report.attempt}, fact.report.rank});
    const bool is_new = hold(fact) != nullptr && !is_held;
    if (is_new) fact = running(std::move(fact));
    return is_held && fact.state == runner::RankFact::State::kEnded;
  });
}

void HeldEnds::replace_in(std::vector<runner::RankFact>& inventory) {
  for (runner::RankFact& fact : inventory) {
    const EndPtr end = hold(fact);
    if (end != nullptr) fact = end->is_finished ? end->fact : running(std::move(fact));
  }
}

void HeldEnds::stop(const runner::AttemptOnNode& of, Duration grace) {
  if (preparer_.unfinished(of) == nullptr) return;
  stops_.try_emplace(of, clock_.boot() + grace);
  for (auto& [key, end] : ends_) {
    if (key.first == of && !end->is_finished) limit(end, grace, model::EndCause::kStopped);
  }
}

void HeldEnds::forget(const runner::AttemptOnNode& of) {
  stops_.erase(of);
  std::erase_if(ends_, [&of](const auto& entry) {
    const bool is_its = entry.first.first == of;
    if (is_its) entry.second->give_up.stop();
    return is_its;
  });
}

}  // namespace runnel::agent
