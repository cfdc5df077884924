#pragma once

#include <string>
#include <string_view>

#include "spec/diagnostics.h"
#include "spec/yaml.h"

namespace runnel::spec {

// Whether only a Hyper recipe could have these fields.
bool is_recipe(const YamlNode& root);

// Turns a Hyper recipe (`version: 1`, `experiments:`) into the values of a job file: an experiment
// is a step, its tasks are drawn at random, its `workers` bound those at one time.
//
// Contract: values keep the places of the recipe, so faults found later point into it. A field
//           that is unknown or cannot be is reported to `faults`; what is known and has no
//           counterpart here to `notes`, with what happens instead. Null exactly when nothing can
//           be made of it; then there is a fault.
YamlNodePtr job_of_recipe(const YamlNode& recipe, Diagnostics& faults, Diagnostics& notes);

// The recipe's name of one of the job's fields: "experiments.train.command" for "steps.train.run".
std::string recipe_field(std::string_view field);

}  // namespace runnel::spec
