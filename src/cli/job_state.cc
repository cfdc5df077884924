#include "cli/job_state.h"

#include "cli/print.h"
#include "env/clock.h"

namespace runnel::cli {

bool has_ended(const json::Value& job) {
  const std::string status = text_of(job, "status");
  return status == "SUCCEEDED" || status == "FAILED" || status == "CANCELLED";
}

bool has_settled(const json::Value& job) {
  return has_ended(job) || text_of(job, "status") == "PAUSED";
}

bool is_active(const json::Value& job) {
  const json::Value* counts = job.find("counts");
  if (counts == nullptr) return false;
  return number_of(*counts, "STARTING") + number_of(*counts, "RUNNING") +
             number_of(*counts, "COMPLETING") >
         0;
}

bool can_be_retried(const json::Value& job) {
  return has_ended(job) && text_of(job, "status") != "SUCCEEDED";
}

std::string first_failure(const json::Value& job) {
  const json::Value* failure = job.find("first_failure");
  if (failure == nullptr) return "";
  const std::string task =
      text_of(*failure, "step") + "/" + std::to_string(number_of(*failure, "task"));
  const std::string reason = text_of(*failure, "reason", "no reason is known");
  // The program itself left with 0: only its trial has failed.
  if (reason == "MetricMissing" || reason == "MetricNotFinite")
    return task + " failed (" + reason + ")";
  return task + " ended with exit code " + std::to_string(number_of(*failure, "exit_code")) + " (" +
         reason + ")";
}

int status_code(const json::Value& job) {
  if (!has_ended(job)) return kStatusNotFinished;
  const std::string status = text_of(job, "status");
  if (status == "SUCCEEDED") return 0;
  return status == "FAILED" ? kStatusFailed : kStatusCancelled;
}

std::string elapsed_text(const json::Value& job) {
  const Result<Time> began = parse_rfc3339(text_of(job, "started_at"));
  if (!began.ok()) return "";
  const Result<Time> ended = parse_rfc3339(text_of(job, "ended_at"));
  return human((ended.ok() ? *ended : env::real_clock().wall()) - *began);
}

}  // namespace runnel::cli
