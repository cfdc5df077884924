#pragma once

#include <string>

namespace runnel::cli {

// A moment of a document, "2026-11-22T20:27:57.908Z", as a person reads it in this machine's time
// zone: "2026-11-22 20:27:57". Another text stays as it is.
std::string local_moment(const std::string& rfc3339);

// Local on a terminal, as the document has it in a pipe.
std::string moment_text(const std::string& rfc3339);

}  // namespace runnel::cli
