#pragma once

#include <string>

namespace runnel::runner {

// Writes a line with the time to the runner's log, its standard error.
void log_line(const std::string& text);

}  // namespace runnel::runner
