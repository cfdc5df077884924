#pragma once

#include <string_view>

#include "spec/diagnostics.h"
#include "spec/job_file.h"

namespace runnel::spec {

// Reads a job from values, wherever they came from: a file's, or those that run_flags.cc makes.
JobFileReport read_job(const YamlNode& root, Diagnostics& faults, const ParseContext& context);

}  // namespace runnel::spec
