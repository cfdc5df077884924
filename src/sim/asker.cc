#include "sim/asker.h"

#include <algorithm>
#include <string>
#include <utility>

namespace runnel::sim {
namespace {

using model::TrialCall;
using model::TrialEnd;

constexpr std::size_t kAskers = 3;
constexpr std::uint64_t kAskerStream = 0xA5CE25;
constexpr Duration kAskerLease = Duration::seconds(3);

bool any_outside(const Scenario& scenario) {
  return std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [](const auto& job) {
    return std::any_of(job->steps.begin(), job->steps.end(),
                       [](const model::StepSpec& step) { return step.is_external(); });
  });
}

// The steps that can be asked, in the order of their jobs.
std::vector<std::pair<JobId, StepIndex>> studies(const brain::State& state) {
  std::vector<std::pair<JobId, StepIndex>> found;
  for (const auto& [id, job] : state.jobs) {
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      if (!job.spec->steps[step].is_external() || model::is_end(job.steps[step].status)) continue;
      found.emplace_back(id, StepIndex(static_cast<std::int32_t>(step)));
    }
  }
  return found;
}

}  // namespace

Askers::Asker Askers::successor(const Asker& before) {
  return {.life = before.life + 1, .asked = before.asked + 1};
}

Askers::Askers(const Scenario& scenario, Wiring wiring)
    : agenda_(*wiring.agenda),
      control_(*wiring.control),
      seen_(*wiring.seen),
      truth_(*wiring.truth),
      dice_(scenario.seed ^ kAskerStream),
      askers_(any_outside(scenario) ? kAskers : 0) {}

void Askers::start() {
  for (std::size_t who = 0; who < askers_.size(); ++who) live(who);
}

void Askers::crash() {
  for (Asker& asker : askers_) asker = successor(asker);
}

void Askers::live(std::size_t who) {
  agenda_.after(Duration::millis(dice_.between(50, 900)), [this, who] { live(who); });
  if (!control_.up()) return;
  Asker& asker = askers_[who];
  if (asker.telling) return tell(who);
  if (!asker.has) return ask(who);
  if (dice_.chance(100)) {
    asker = successor(asker);
  } else if (dice_.chance(600)) {
    report(who);
  } else {
    decide_end(asker);
    tell(who);
  }
}

void Askers::ask(std::size_t who) {
  const auto open = studies(control_.state());
  if (open.empty()) return;
  TrialCall call;
  std::tie(call.job, call.step) = dice_.pick<std::pair<JobId, StepIndex>>(open);
  call.lease = kAskerLease;
  call.holder = "asker" + std::to_string(who) + "." + std::to_string(askers_[who].asked);
  control_.call(call, [this, who, born = ++askers_[who].life](const auto& answer) {
    Asker& asker = askers_[who];
    if (asker.life != born || answer.refusal || !answer.attempt) return;
    asker.has = answer.attempt;
    asker.at = 0;
    ++asker.asked;
  });
}

TrialCall Askers::call_of(const Asker& asker, TrialCall::Verb verb) {
  TrialCall call;
  call.verb = verb;
  call.job = asker.has->task.job;
  call.step = asker.has->task.step;
  call.trial = asker.has->task.index;
  call.attempt = asker.has->attempt;
  call.at = asker.at;
  return call;
}

std::vector<std::string> Askers::values_for(const model::AttemptRef& attempt) {
  const auto& job = control_.state().jobs.find(attempt.task.job);
  if (job == control_.state().jobs.end()) return {};
  const auto step = static_cast<std::size_t>(attempt.task.step.value());
  const std::size_t objectives = job->second.spec->steps[step].search->objectives.size();
  std::vector<std::string> values;
  values.reserve(objectives);
  for (std::size_t i = 0; i < objectives; ++i) {
    values.push_back(dice_.chance(20) ? "nan" : std::to_string(dice_.between(-1'000, 1'000)));
  }
  return values;
}

void Askers::report(std::size_t who) {
  Asker& asker = askers_[who];
  ++asker.at;
  TrialCall call = call_of(asker, TrialCall::Verb::kReport);
  call.values = values_for(*asker.has);
  control_.call(call, [this, who, born = asker.life](const auto& answer) {
    // Taken away, or ended by the search: on to the next.
    if (askers_[who].life != born || !(answer.refusal || answer.repeated)) return;
    if (!answer.refusal || answer.refusal->code == Errc::kConflict)
      askers_[who] = successor(askers_[who]);
  });
}

// What it says from now on.
void Askers::decide_end(Asker& asker) {
  TrialCall call = call_of(asker, TrialCall::Verb::kTell);
  const std::int64_t rolled = dice_.between(0, 9);
  call.end = rolled == 0   ? TrialEnd::kFailed
             : rolled == 1 ? TrialEnd::kPruned
                           : TrialEnd::kComplete;
  if (call.end == TrialEnd::kComplete) call.values = values_for(*asker.has);
  truth_.exited[{*asker.has, 0}] = call.end == TrialEnd::kFailed ? 1 : 0;
  asker.telling = std::move(call);
}

void Askers::tell(std::size_t who) {
  Asker& asker = askers_[who];
  control_.call(*asker.telling, [this, who, attempt = *asker.has, end = asker.telling->end,
                                 born = asker.life](const auto& answer) {
    const bool later = answer.refusal && answer.refusal->code == Errc::kUnavailable;
    if (later) return;
    if (!answer.refusal) seen_.tells.push_back({attempt, end});
    if (askers_[who].life == born) askers_[who] = successor(askers_[who]);
  });
}

}  // namespace runnel::sim
