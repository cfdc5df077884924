#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "home/home.h"
#include "json/value.h"
#include "model/spec.h"

namespace runnel::cli {

// What a search can learn from trials of an earlier study: those that ended whole, whose parameters
// are possible in the new one, with all its metrics.
struct EarlierStudy {
  std::vector<model::EarlierTrial> trials;
  std::int64_t passed_over = 0;
};

// Reads a document with a list `trials`, as `study export -o json` prints it. kInvalid for others.
Result<EarlierStudy> earlier_study(const json::Value& document, const model::StepSpec& step);

// Gives the job's search the trials of what --from names: a file, or else a study of this home.
// A line that says how many.
Result<std::string> learn_from(const std::string& from, const home::Home& home,
                               model::JobSpec& spec);

}  // namespace runnel::cli
