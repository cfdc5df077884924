#pragma once

#include <string>
#include <vector>

namespace runnel::output {

// Whether the command's text opens its own output by a name: `echo x > /dev/stderr` empties the
// file that is its standard error, with all that others have written there.
//
// Why: only what the command says itself. Its variables are not looked at, since shells hand down
//      functions that say such things, which would cost every task its own files.
bool names_own_output(const std::vector<std::string>& argv);

}  // namespace runnel::output
