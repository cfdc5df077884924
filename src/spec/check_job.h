#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "model/spec.h"

namespace runnel::spec {

// Every fault that a job file would be refused for, of a specification that came another way. Each
// names its field: "steps.train.retry.max".
//
// Why: a file's log patterns are compiled where they are read, which knows their places; the model
//      knows no regular expressions. Everything else is model::check_spec().
std::vector<Error> check_job(const model::JobSpec& spec);

// The fault of one of a step's log patterns. The error's value is the part of the regular
// expression, or the step's field, that is at fault.
struct PatternFault {
  enum class Field : std::uint8_t { kRegex, kStep };
  std::size_t pattern = 0;
  Field field = Field::kRegex;
  Error error;
};
std::vector<PatternFault> check_patterns(const std::vector<model::LogPattern>& patterns);

}  // namespace runnel::spec
