#pragma once

#include <span>
#include <string>
#include <string_view>

namespace runnel {

// The candidate closest to `word` by Damerau-Levenshtein distance (optimal string alignment), or ""
// when none is near enough (more than a third of the longer word, at least 1) to be what was meant.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace runnel
