#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/spec.h"

namespace runnel::cli {

// The variables of this shell that tasks get without being named: where programs and libraries are
// found, who the user is, language and caches. Not all of them, as what is submitted is kept in the
// log, and a shell may hold secrets. Sorted by name.
std::vector<std::pair<std::string, std::string>> shell_environment(
    const std::vector<std::string>& environment);

// Those that programs look for and that are set here, but do not reach every task of the job: named
// neither in its `envs` nor in its secrets. Sorted. Not those that reach the mounts of the job's
// volumes, once these are pinned, nor, in the shell of a task, what Runnel itself set there.
std::vector<std::string> left_behind(const std::vector<std::string>& environment,
                                     const model::JobSpec& spec);

// Puts the whole shell into the `envs` of each step, where it says nothing itself; but for what the
// shell keeps for itself and for Runnel's own variables.
void hand_on_all(const std::vector<std::string>& environment, model::JobSpec& spec);

}  // namespace runnel::cli
