#pragma once

#include <cstddef>
#include <string>

#include "model/spec.h"

namespace runnel::control {

inline constexpr std::size_t kCommandLineBytesMax = 200;

// What a step runs, in one line: its command as a shell would take it, or its script's first line
// that is more than a comment. What is left out of either is told by "..."; "" for a step that is
// asked from outside.
std::string command_line(const model::StepSpec& step);

}  // namespace runnel::control
