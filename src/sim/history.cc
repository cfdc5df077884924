#include "sim/history.h"

#include <set>
#include <utility>
#include <variant>

#include "model/status.h"

namespace runnel::sim {
namespace {

using model::Level;
using model::Status;

std::string check_answers(const Seen& seen, const std::vector<model::Event>& log) {
  std::map<JobId, int> submitted;
  for (const model::Event& event : log) {
    if (const auto* what = std::get_if<model::JobSubmitted>(&event)) ++submitted[what->job];
  }
  std::map<std::string, JobId> by_key;
  for (const Seen::Answer& answer : seen.answers) {
    if (submitted[answer.job] != 1)
      return "answered job " + answer.job.str() + " is not in the log";
    auto [known, added] = by_key.emplace(answer.key, answer.job);
    if (!added && known->second != answer.job) {
      return "key " + answer.key + " was answered with two jobs";
    }
  }
  return "";
}

std::string check_watched(const Seen& seen, const std::vector<model::Event>& log) {
  std::int64_t expected = 1;
  for (const auto& [number, event] : seen.watched) {
    if (number != expected++) return "the watcher missed event " + std::to_string(expected - 1);
    if (number > static_cast<std::int64_t>(log.size())) {
      return "event " + std::to_string(number) + " was shown and is not in the log";
    }
    if (log[static_cast<std::size_t>(number - 1)] != event) {
      return "event " + std::to_string(number) + " was shown with other content";
    }
  }
  return "";
}

// Follows jobs and attempts through what was shown.
class StateCheck {
 public:
  std::string take(const model::Event& event) {
    return std::visit([this](const auto& what) { return see(what); }, event);
  }

 private:
  template <typename Other>
  std::string see(const Other&) {
    return "";
  }
  std::string see(const model::JobSubmitted& what) {
    jobs_[what.job] = Status::kQueued;
    return "";
  }
  std::string see(const model::JobChanged& what) {
    Status& status = jobs_[what.job];
    const bool reopened = what.reason == "Retried" && model::reopenable(Level::kJob, status) &&
                          what.to == Status::kQueued;
    if (!reopened && !model::allowed(Level::kJob, status, what.to)) {
      return "job " + what.job.str() + " went from " + std::string(to_string(status)) + " to " +
             std::string(to_string(what.to));
    }
    status = what.to;
    return "";
  }
  std::string see(const model::AttemptEnded& what) {
    if (!ended_.insert(what.attempt).second) {
      return "attempt " + to_string(what.attempt) + " ended twice";
    }
    if (!model::allowed(Level::kAttempt, Status::kRunning, what.to)) {
      return "attempt " + to_string(what.attempt) + " ended as " + std::string(to_string(what.to));
    }
    if (what.task == Status::kSucceeded && !succeeded_.insert(what.attempt.task).second) {
      return "task " + to_string(what.attempt.task) + " succeeded twice";
    }
    return "";
  }

  std::map<JobId, Status> jobs_;
  std::set<model::AttemptRef> ended_;
  std::set<model::TaskRef> succeeded_;
};

}  // namespace

std::string check_history(const Seen& seen, const std::vector<model::Event>& log) {
  if (std::string broken = check_answers(seen, log); !broken.empty()) return broken;
  if (std::string broken = check_watched(seen, log); !broken.empty()) return broken;
  StateCheck states;
  for (const model::Event& event : log) {
    if (std::string broken = states.take(event); !broken.empty()) return broken;
  }
  return "";
}

}  // namespace runnel::sim
