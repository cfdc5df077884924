#pragma once

#include <string>
#include <vector>

namespace runnel::cli {

// The course of some numbers in at most `width` characters of eight heights; what is no finite
// number is an `x`, numbers that are all equal lie in the middle.
std::string sparkline(const std::vector<double>& values, std::size_t width = 24);

}  // namespace runnel::cli
