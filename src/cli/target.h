#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace runnel::cli {

// Targets of API requests from what the user typed, which may hold any character.

// Refuses what cannot be an id or the beginning of one: no request can be made of it.
Result<void> check_jobs(const std::vector<std::string>& jobs);

// "/api/v1/jobs/ID" and what follows.
std::string job_target(std::string_view job, std::string_view rest = "");
// The target with one more query value.
std::string with_query(std::string target, std::string_view name, std::string_view value);

}  // namespace runnel::cli
