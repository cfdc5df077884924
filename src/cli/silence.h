#pragma once

#include "json/value.h"

namespace runnel::cli {

// A line on stderr for each part of the home that does not answer, or has no room, and for steps
// whose tasks wait for a store or a file before they begin, by the document.
void tell_of_silence(const json::Value& document);

}  // namespace runnel::cli
