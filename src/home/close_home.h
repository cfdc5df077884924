#pragma once

#include <string>

#include "base/result.h"
#include "home/home.h"

namespace runnel::home {

// Keeps other users out of a home, whose log and output hold commands, variables and what programs
// print. A home that we own and that others can enter is closed (0700), and so are the files of one
// that an earlier build made open; returned is the sentence that tells a person of it, or "". A
// folder that is not a home's alone (it is $HOME itself, others may write to it, or other files lie
// in it) is refused with the remedy: closing it would take away what is not ours. A home of another
// user is left as it is.
Result<std::string> close_home(const Home& home);

}  // namespace runnel::home
