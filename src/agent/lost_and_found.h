#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace runnel::agent {

// The folder for files of jobs that no log knows: <home>/lost+found, or where beside_jobs() has it.
// Nothing in it is ever removed.
std::string lost_and_found(const std::string& home);

// Moves the job's folder there, under its id or, where one is there already, "<id>-2"; returns the
// new path. Fine, with an empty path, when the job has no folder.
Result<std::string> set_aside(const std::string& home, const JobId& job);

// A sentence for a person about what is there, why, and how to get it back; empty when nothing is.
std::string lost_and_found_notice(const std::string& home);

}  // namespace runnel::agent
