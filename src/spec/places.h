#pragma once

#include <vector>

#include "base/error.h"
#include "spec/diagnostics.h"

namespace runnel::spec {

// Keeps faults of a specification, each at its place in the values that it was read from.
//
// A fault of the model names its field by a path, "steps.train.retry.max". The way down is that of
// the file's mappings: by aliases (`needs`), by the file's own words (`budget` for budget_micros),
// and by the job's defaults where the step says nothing. It ends at the nearest that is written:
// the place of what is missing is that of what lacks it.
//
// Left out are faults of a field in which the reader has refused something already: what it read in
// its stead is nobody's.
void report_at_places(const YamlNode& root, std::vector<Error> faults, Diagnostics& diagnostics);

}  // namespace runnel::spec
