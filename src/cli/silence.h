#pragma once

#include "json/value.h"

namespace runnel::cli {

// One line on stderr when the document tells of a runner that does not answer.
void tell_of_silence(const json::Value& document);

}  // namespace runnel::cli
