#pragma once

#include <string>

#include "home/home.h"

namespace runnel::cli {

// Whether the job's tasks have left something of theirs in their own folders or the shared one:
// anything but what Runnel itself writes there, and empty folders. Cheap: of very many folders, and
// of those whose disk does not answer, it is believed and not looked for.
bool has_outputs(const home::Home& home, const std::string& job);

}  // namespace runnel::cli
