#pragma once

#include <string>

#include "base/result.h"
#include "home/home.h"

namespace runnel::home {

// Keeps this build's Python package in the home, with the place of librunnel.so, where every task
// finds it whatever environment its Python is of, and returns the folder for PYTHONPATH. "" for a
// home whose path cannot stand in there. Blocks.
Result<std::string> keep_python_package(const Home& home);

}  // namespace runnel::home
