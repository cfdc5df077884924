#include "cli/chaos.h"

#include <csignal>
#include <utility>

#include "base/check.h"
#include "env/process_list.h"

namespace runnel::cli {
namespace {

// Late enough that most programs have saved something, early enough that a step of ten seconds is
// struck.
constexpr Duration kStrikeMin = Duration::seconds(1);
constexpr std::uint64_t kStrikeSpreadMillis = 5'000;

}  // namespace

Chaos::Chaos(const model::JobSpec& spec, std::string job, env::Random& random)
    : job_(std::move(job)), random_(random) {
  CHECK(!job_.empty(), "chaos strikes a job that there is");
  for (const model::StepSpec& step : spec.steps) {
    if (step.retry.max > 0) steps_[step.name] = std::nullopt;
  }
  any_ = !steps_.empty();
}

std::string Chaos::look(Duration now) {
  for (auto& [step, strike_at] : steps_) {
    if (strike_at && now < *strike_at) continue;
    // A task's own process: one that it started may not matter to it.
    const std::vector<std::int64_t> pids =
        env::first_of(env::processes_with({"RUNNEL_JOB_ID=" + job_, "RUNNEL_STEP=" + step}));
    if (pids.empty()) continue;
    if (!strike_at) {
      const std::uint64_t wait = random_.next() % kStrikeSpreadMillis;
      strike_at = now + kStrikeMin + Duration::millis(static_cast<std::int64_t>(wait));
      continue;
    }
    const std::int64_t pid = pids[random_.next() % pids.size()];
    if (::kill(static_cast<pid_t>(pid), SIGKILL) != 0) continue;
    std::string told = "chaos: killed process " + std::to_string(pid) + " of step " + step;
    steps_.erase(step);
    return told;
  }
  return "";
}

std::string Chaos::spared() const {
  std::string names;
  for (const auto& [step, strike_at] : steps_) names += (names.empty() ? "" : ", ") + step;
  if (!names.empty()) return "chaos: nothing was killed of " + names + ", which ended too soon";
  return any_ ? "" : "chaos: nothing was killed, since no step has `retry`";
}

}  // namespace runnel::cli
