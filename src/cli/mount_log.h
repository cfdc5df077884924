#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "home/home.h"

namespace runnel::cli {

// What processes of mounts say that have no terminal goes to the home's log of mounts, where each
// line begins with its time.

// Whether what this process says goes there.
bool says_to_mount_log(const home::Home& home);

std::size_t mount_log_size(const home::Home& home);
// What was said since the log had a size, as a part of another sentence.
std::string words_since(const home::Home& home, std::size_t size);
// The same of lines of a log: without times, and without the name of the program.
std::string words_of(std::string_view lines);

}  // namespace runnel::cli
