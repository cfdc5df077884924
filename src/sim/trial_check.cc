#include "sim/trial_check.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace runnel::sim {
namespace {

std::string trial_name(const model::TaskRef& task) { return "trial " + model::to_string(task); }

double number_of(const std::string& text) {
  double value = std::nan("");
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string TrialCheck::on(const model::TrialAsked& event, const model::StepSpec& spec) {
  const std::string name = trial_name({event.job, event.step, event.trial});
  if (!spec.search) return name + " is asked for in a step without a search";
  if (event.trial.value() != asked_[{event.job, event.step}]++) return name + " is out of order";
  if (event.trial.value() >= spec.search->max_trials) return name + " is over max_trials";
  const auto number = static_cast<std::size_t>(event.trial.value());
  if (number >= spec.search->start.size()) return "";
  for (const auto& [wanted, value] : spec.search->start[number]) {
    const bool given = std::any_of(event.params.begin(), event.params.end(), [&](const auto& each) {
      return each.first == wanted &&
             (each.second == value || number_of(each.second) == number_of(value));
    });
    if (!given) return name + " does not start where it should: " + wanted;
  }
  return "";
}

std::string TrialCheck::on(const model::TrialReported& event, const model::StepSpec& spec) {
  const model::TaskRef& task = event.attempt.task;
  if (event.values.size() != spec.search->objectives.size())
    return trial_name(task) + " lacks a value";
  const auto before = last_.find(task);
  const bool same = before != last_.end() && before->second.attempt == event.attempt.attempt;
  if (same && before->second.at >= event.at) {
    return trial_name(task) + " reported step " + std::to_string(event.at) + " again";
  }
  last_[task] = {event.attempt.attempt, event.at, event.values};
  reported_.insert(task);
  return "";
}

std::string TrialCheck::on(const model::TrialParked& event, const model::StepSpec& spec) {
  const model::TaskRef task{event.job, event.step, event.trial};
  if (!spec.checkpoint) return trial_name(task) + " is parked and cannot go on later";
  return parked_.insert(task).second ? "" : trial_name(task) + " is parked twice";
}

std::string TrialCheck::on(const model::TrialPromoted& event) {
  parked_.erase({event.job, event.step, event.trial});
  return "";
}

// The donor may have moved since the member was judged: only who never reported, has ended, or is
// the member itself, cannot be right.
std::string TrialCheck::on(const model::TrialMoved& event, const model::StepSpec& spec) {
  const model::TaskRef task{event.job, event.step, event.trial};
  const model::TaskRef donor{event.job, event.step, event.donor};
  if (!spec.search->population) return trial_name(task) + " moved and is of no population";
  if (event.donor == event.trial) return trial_name(task) + " goes on from itself";
  if (!reported_.contains(donor)) return trial_name(donor) + " is a donor and never reported";
  const auto last = last_.find(task);
  if (last == last_.end() || last->second.at != event.at) {
    return trial_name(task) + " moved at a step that is not its last";
  }
  if (told_.contains(task) || told_.contains(donor))
    return trial_name(task) + " moved after an end";
  last_.erase(task);  // What it reported was of weights that it gave up.
  const auto free = std::count_if(spec.params.begin(), spec.params.end(),
                                  [](const model::Parameter& each) { return !each.when; });
  return std::ssize(event.params) >= free ? "" : trial_name(task) + " lost a parameter";
}

TrialCheck::Result TrialCheck::result_of(const model::SearchSpec& search, const Last& last,
                                         model::TrialEnd end) {
  const bool pruned = end == model::TrialEnd::kPruned;
  std::vector<double> values;
  for (std::size_t each = 0; each < search.objectives.size(); ++each) {
    const double value = number_of(last.values[each]);
    values.push_back(search.objectives[each].maximize ? -value : value);
  }
  return {pruned, pruned ? -last.at : 0, std::move(values)};
}

std::string TrialCheck::on(const model::TrialTold& event, const model::StepSpec& spec) {
  const model::TaskRef task{event.job, event.step, event.trial};
  if (!told_.insert(task).second) return trial_name(task) + " is told twice";
  parked_.erase(task);
  auto& results = results_[{event.job, event.step}];
  if (last_.contains(task) && event.end != model::TrialEnd::kFailed) {
    Result result = result_of(*spec.search, last_[task], event.end);
    const std::vector<double>& values = std::get<2>(result);
    const bool counts = std::all_of(values.begin(), values.end(),
                                    [](double value) { return std::isfinite(value); });
    if (counts) results[event.trial] = std::move(result);
  }
  const auto least =
      std::min_element(results.begin(), results.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (least == results.end()) return event.best == -1 ? "" : "a search without values has a best";
  // Any of several equals will do: which came first is not told here.
  const auto named = results.find(TaskIndex(event.best));
  if (named != results.end() && named->second == least->second) return "";
  return "the best of " + event.job.str() + " is " +
         trial_name({event.job, event.step, least->first}) + ", not " + std::to_string(event.best);
}

// It may have been cut short while it saved: neither done, nor left lying.
std::string TrialCheck::on(const model::AttemptEnded& event, const model::StepSpec& spec) const {
  const bool parked = event.task == model::Status::kPaused && event.reason == "Parked";
  const bool continues = event.reason == "Unfinished";
  if (!parked && !continues) return "";
  const std::string name = trial_name(event.attempt.task);
  if (!spec.search || !spec.search->pruner) return continues ? name + " is of no pruner" : "";
  const std::int64_t whole = spec.search->pruner->max_step;
  const auto last = last_.find(event.attempt.task);
  const bool is_whole = whole > 0 && last != last_.end() && last->second.at >= whole;
  if (continues) return is_whole && spec.checkpoint ? "" : name + " goes on and is not whole";
  if (!is_whole || !spec.search->budget.is_zero()) return "";
  if (interrupted_.contains(event.attempt.task.job)) return "";
  return name + " was whole and does not go on";
}

void TrialCheck::reopen(const model::TaskRef& task) {
  told_.erase(task);
  parked_.erase(task);
}

std::string check_results(const Truth& truth, const std::vector<model::Event>& log) {
  std::map<model::TaskRef, std::pair<std::int64_t, std::string>> told;
  std::set<model::AttemptRef> asked_to_end;
  for (const model::Event& event : log) {
    if (const auto* report = std::get_if<model::TrialReported>(&event)) {
      told[report->attempt.task] = {report->at, report->values.front()};
    }
    if (const auto* stopping = std::get_if<model::AttemptStopping>(&event)) {
      asked_to_end.insert(stopping->attempt);
    }
    const auto* ended = std::get_if<model::AttemptEnded>(&event);
    if (ended == nullptr || ended->task != model::Status::kSucceeded) continue;
    // What it says after that may be lost with its node.
    if (asked_to_end.contains(ended->attempt)) continue;
    if (truth.lied_about.contains(ended->attempt)) continue;
    const auto said = truth.said.find(ended->attempt);
    if (said == truth.said.end()) continue;
    const auto result = told.find(ended->attempt.task);
    if (result != told.end() && result->second == said->second) continue;
    return trial_name(ended->attempt.task) +
           " did not come to what its last attempt said at step " +
           std::to_string(said->second.first);
  }
  return "";
}

}  // namespace runnel::sim
