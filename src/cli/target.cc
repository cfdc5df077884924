#include "cli/target.h"

#include "control/job_id.h"
#include "http/message.h"

namespace runnel::cli {

Result<void> check_jobs(const std::vector<std::string>& jobs) {
  for (const std::string& job : jobs) {
    if (!control::is_job_id_prefix(job)) return control::no_such_job(job);
  }
  return {};
}

std::string job_target(std::string_view job, std::string_view rest) {
  return "/api/v1/jobs/" + http::percent_encode(job) + std::string(rest);
}

std::string with_query(std::string target, std::string_view name, std::string_view value) {
  target += target.find('?') == std::string::npos ? '?' : '&';
  return target.append(name).append("=").append(http::percent_encode(value));
}

}  // namespace runnel::cli
