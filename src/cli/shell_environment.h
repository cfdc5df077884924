#pragma once

#include <string>
#include <utility>
#include <vector>

namespace runnel::cli {

// The variables of this shell that tasks get without being named: where programs and libraries are
// found, who the user is, language and caches. Not all of them, as what is submitted is kept in the
// log, and a shell may hold secrets. Sorted by name.
std::vector<std::pair<std::string, std::string>> shell_environment(
    const std::vector<std::string>& environment);

}  // namespace runnel::cli
