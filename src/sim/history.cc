#include "sim/history.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "brain/state.h"
#include "model/status.h"

namespace runnel::sim {
namespace {

using model::Level;
using model::Status;

std::string check_answers(const Seen& seen, const std::vector<model::Event>& log) {
  std::map<JobId, brain::KeyName> key_of;
  std::set<brain::KeyName> taken;  // Until they expire.
  for (const model::Event& event : log) {
    if (const auto* expired = std::get_if<model::KeyExpired>(&event)) {
      taken.erase({expired->project, expired->actor, expired->key});
    }
    const auto* what = std::get_if<model::JobSubmitted>(&event);
    if (what == nullptr) continue;
    const auto key = brain::KeyName::of(what->project, what->actor, what->idempotency_key);
    key_of[what->job] = key;
    if (key.key.empty() || taken.insert(key).second) continue;
    return "key " + key.key + " of '" + key.actor + "' made two jobs";
  }
  for (const Seen::Answer& answer : seen.answers) {
    const auto job = key_of.find(answer.job);
    if (job == key_of.end()) return "answered job " + answer.job.str() + " is not in the log";
    if (job->second != answer.key) {
      return "key " + answer.key.key + " of '" + answer.key.actor +
             "' was answered with another's job";
    }
  }
  return "";
}

// The members that stand before those of the event itself.
std::string head_of(std::int64_t number, Time at) {
  return "{\"seq\":" + std::to_string(number) + ",\"time\":\"" + rfc3339(at) + "\",";
}

// The place in a batch's list where the next event begins, if this is the document of that at
// `from`.
std::optional<std::size_t> passed(const store::Batch& batch, std::size_t from,
                                  std::string_view document, const std::string& head) {
  if (!document.starts_with(head)) return std::nullopt;
  const std::string_view members = document.substr(head.size());
  const std::string_view text = std::string_view(batch.events).substr(from);
  if (!text.starts_with('{') || !text.substr(1).starts_with(members)) return std::nullopt;
  return from + 1 + members.size() + 1;  // The comma, or the end of the list.
}

// Attempts of trials that reported the last step of their search.
std::set<model::AttemptRef> whole_trials(const std::vector<model::Event>& log) {
  std::map<JobId, std::shared_ptr<const model::JobSpec>> specs;
  std::set<model::AttemptRef> whole;
  for (const model::Event& event : log) {
    if (const auto* job = std::get_if<model::JobSubmitted>(&event)) specs[job->job] = job->spec;
    const auto* report = std::get_if<model::TrialReported>(&event);
    if (report == nullptr) continue;
    const model::TaskRef& task = report->attempt.task;
    const auto& search = specs.at(task.job)->steps.at(task.step.value()).search;
    const std::int64_t last = search->pruner ? search->pruner->max_step : 0;
    if (last > 0 && report->at >= last) whole.insert(report->attempt);
  }
  return whole;
}

std::string check_tells(const Seen& seen, const std::vector<model::Event>& log) {
  const std::set<model::AttemptRef> whole = whole_trials(log);
  std::map<model::AttemptRef, Status> ends;
  for (const model::Event& event : log) {
    const auto* ended = std::get_if<model::AttemptEnded>(&event);
    if (ended != nullptr) ends[ended->attempt] = ended->to;
  }
  for (const Seen::Tell& tell : seen.tells) {
    const auto ended = ends.find(tell.attempt);
    const std::string name = "attempt " + to_string(tell.attempt);
    if (ended == ends.end()) return name + " was told and has not ended";
    if (ended->second == Status::kNodeFail) return name + " was told and counts as lost";
    const bool failed = tell.end == model::TrialEnd::kFailed;
    if (failed && ended->second == Status::kSucceeded) return name + " failed and succeeded";
    const bool pruned = tell.end == model::TrialEnd::kPruned;
    const bool finished = whole.contains(tell.attempt) && ended->second == Status::kSucceeded;
    if (pruned && !finished && ended->second != Status::kCancelled) {
      return name + " was pruned and was not";
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
  std::string see(const model::JobSubmitted& what) {
    jobs_[what.job] = Status::kQueued;
    return "";
  }
  std::string see(const model::JobChanged& what) {
    const auto known = jobs_.find(what.job);
    if (known == jobs_.end()) return "job " + what.job.str() + " changed and is not there";
    Status& status = known->second;
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

  std::string see(const model::JobArchived& what) { return leave(what.job); }
  std::string see(const model::JobDeleted& what) { return leave(what.job); }
  std::string see(const model::JobRestored& what) {
    const Result<brain::Job> job = brain::decode_job(what.record);
    if (!job.ok()) return "job " + what.job.str() + " came back and is not understood";
    const bool added = jobs_.emplace(what.job, job->status).second;
    return added ? "" : "job " + what.job.str() + " came back and had not left";
  }
  // invariants.h follows others as they are decided; of KeyExpired see check_answers().
  template <typename Other>
  std::string see(const Other&) {
    return "";
  }

  std::string leave(const JobId& job) {
    const auto known = jobs_.find(job);
    if (known == jobs_.end()) return "job " + job.str() + " left and was not there";
    const bool ended = model::is_end(known->second);
    jobs_.erase(known);
    return ended ? "" : "job " + job.str() + " left before its end";
  }

  std::map<JobId, Status> jobs_;
  std::set<model::AttemptRef> ended_;
  std::set<model::TaskRef> succeeded_;
};

}  // namespace

std::string check_history(const Seen& seen, const std::vector<model::Event>& log) {
  if (std::string broken = check_answers(seen, log); !broken.empty()) return broken;
  if (std::string broken = check_tells(seen, log); !broken.empty()) return broken;
  StateCheck states;
  for (const model::Event& event : log) {
    if (std::string broken = states.take(event); !broken.empty()) return broken;
  }
  return "";
}

std::string check_shown(const Seen& seen, const std::map<std::int64_t, store::Batch>& log) {
  auto batch = log.begin();
  std::size_t at = 1;
  std::int64_t expected = 1;
  for (const auto& [number, document] : seen.watched) {
    if (number != expected++) return "the watcher missed event " + std::to_string(expected - 1);
    if (batch != log.end() && number == batch->second.next_event().value()) {
      ++batch;
      at = 1;
    }
    if (batch == log.end()) {
      return "event " + std::to_string(number) + " was shown and is not in the log";
    }
    const auto next = passed(batch->second, at, document, head_of(number, batch->second.now));
    if (!next) return "event " + std::to_string(number) + " was shown with other content";
    at = *next;
  }
  return "";
}

}  // namespace runnel::sim
