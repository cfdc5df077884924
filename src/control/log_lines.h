#pragma once

#include <string>
#include <string_view>

#include "control/log_source.h"

namespace runnel::control {

// The lines of a piece of output as JSON documents, each with its newline:
// {"attempt","cursor"?,"job","level","msg","rank","step","stream","task","ts"}. Of a line that was
// written over with carriage returns (a progress bar) the last version is told. Bytes that are not
// UTF-8 become U+FFFD. The last line carries the cursor: a reader that comes back after an earlier
// one gets the piece again.
std::string json_lines(const model::LogPiece& piece, std::string_view step_name);

// A line without what was written over, and without its end.
std::string_view folded(std::string_view line);

}  // namespace runnel::control
