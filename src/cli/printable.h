#pragma once

#include <string>
#include <string_view>

namespace runnel::cli {

// Text of users, tasks and peers as a person may read it: nothing in it moves the cursor, hides
// what stands beside it, or begins a line that looks like one of ours. Control characters are
// written \n, \t, \x1b; others that change how a line is read, \u202e; bytes that are no UTF-8,
// \xff. Output of tasks is not for this: it passes byte for byte.
std::string printable(std::string_view text);

// The same for text that has lines and tabs of our own.
std::string printable_lines(std::string_view text);

}  // namespace runnel::cli
