#pragma once

#include <string>

#include "model/resources.h"
#include "spec/scope.h"

namespace runnel::spec {

// Reads `cpus` and `memory`, which a machine must have, and `accelerators`.
model::Resources read_capacity(Scope& scope, ObjectReader& object);

// Reports a field that a mapping needs and does not have; one that is there and empty, or that was
// taken for a misspelt one, was reported.
void refuse_missing(const Scope& scope, const ObjectReader& object, const std::string& field,
                    const std::string& example);

}  // namespace runnel::spec
