#include "cli/job_state.h"

#include "cli/print.h"

namespace runnel::cli {

bool has_ended(const json::Value& job) {
  const std::string status = text_of(job, "status");
  return status == "SUCCEEDED" || status == "FAILED" || status == "CANCELLED";
}

bool has_settled(const json::Value& job) {
  return has_ended(job) || text_of(job, "status") == "PAUSED";
}

bool can_be_retried(const json::Value& job) {
  return has_ended(job) && text_of(job, "status") != "SUCCEEDED";
}

int status_code(const json::Value& job) {
  if (!has_ended(job)) return kStatusNotFinished;
  const std::string status = text_of(job, "status");
  if (status == "SUCCEEDED") return 0;
  return status == "FAILED" ? kStatusFailed : kStatusCancelled;
}

}  // namespace runnel::cli
