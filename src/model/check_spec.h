#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "model/spec.h"

namespace runnel::model {

// Which rules a specification is judged by.
enum class Rules : std::uint8_t {
  kStored,     // What everyone may rely on. Decoding asks for no more: what older homes have taken
               // goes on being read.
  kSubmitted,  // And what a new job is refused for: names that are none, references to nothing,
               // folders that lead out, limits of a later day.
};

// Every fault of a specification: the one judge of jobs (docs/design/validation.md).
//
// Contract: kInvalid each, with a remedy and the path of the field: "steps.train.retry.max". A step
//           or a parameter goes by its name, or by its position ("steps[2]") when that is no name
//           or another's. Reads any values whatever, and never CHECKs them. At most kFaultsMax.
//           A reference that is at fault is the fault's value, braces and all, as it is written.
std::vector<Error> check_spec(const JobSpec& spec, Rules rules = Rules::kSubmitted);
inline constexpr std::size_t kFaultsMax = 100;

// The first fault by the rules of what is stored.
Result<void> check_stored(const JobSpec& spec);

}  // namespace runnel::model
