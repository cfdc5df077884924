#pragma once

#include <cstddef>
#include <string>

namespace runnel::runner {

inline constexpr std::size_t kReportTextMax = 1'024;

// A report's message, cut between two characters and ended by "..." when it is longer than that.
//
// Why: parts of it are the user's (a command's name may be a whole script), while it travels in
//      frames and events and stands in the journal, all of which are bounded.
std::string report_text(std::string text);

}  // namespace runnel::runner
