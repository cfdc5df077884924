#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace runnel {

// The Damerau-Levenshtein distance (optimal string alignment): how many letters are put in, left
// out, replaced, or swapped with the next one. Takes the product of the lengths in time.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate closest to `word` by Damerau-Levenshtein distance (optimal string alignment), or ""
// when none is near enough (more than a third of the longer word, at least 1) to be what was meant.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace runnel
