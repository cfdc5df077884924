#pragma once

#include <string>

#include "json/value.h"

namespace runnel::control {

// The shapes of all documents of the API by name, as JSON Schemas: the part `components.schemas` of
// /openapi.json. What clients send follows from the lists of fields that read it; answers are
// written down here, and the tests hold them against what is answered.
//
// Contract: an answer has the members that are required, may have the others, and in later versions
//           more.
json::Value api_schemas();

}  // namespace runnel::control
