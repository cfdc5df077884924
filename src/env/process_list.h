#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace runnel::env {

// The processes of this user that began with all of these variables, each "NAME=value", in their
// environment: how whoever started a task finds what it has become. Those that end meanwhile are
// left out. Reads /proc.
std::vector<std::int64_t> processes_with(const std::vector<std::string>& variables);

// Those among them that none of the others has started.
std::vector<std::int64_t> first_of(const std::vector<std::int64_t>& pids);

}  // namespace runnel::env
