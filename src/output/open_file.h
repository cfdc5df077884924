#pragma once

#include <string>

#include "async/unique_fd.h"

namespace runnel::output {

// Regular files that are read or written at places, not as a whole. Not valid: errno says why, and
// is EINVAL for a pipe or a device.
async::UniqueFd open_to_read(const std::string& path);
// Made when it is missing; every write goes to its end.
async::UniqueFd open_to_append(const std::string& path);

// A folder by itself, wherever it is moved to. Not valid: errno says why.
async::UniqueFd open_folder(const std::string& path);

// Whether the path leads to the open file: a folder that was moved leaves its paths to another one.
bool is_same_file(int file, const std::string& path);

}  // namespace runnel::output
