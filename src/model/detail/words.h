#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/nearest.h"
#include "base/result.h"

namespace runnel::model::detail {

// The words of an enum whose values count from 0, in the order of its values.
template <std::size_t N>
using Words = std::array<std::string_view, N>;

template <typename Enum, std::size_t N>
std::string_view word_of(Enum value, const Words<N>& words) {
  const auto at = static_cast<std::size_t>(value);
  CHECK(at < N, "an enum holds a value that it does not have");
  return words[at];
}

// `what` completes "'word' is not ...".
template <typename Enum, std::size_t N>
Result<Enum> parse_word(std::string_view word, const Words<N>& words, const char* what) {
  for (std::size_t at = 0; at < N; ++at) {
    CHECK(!words[at].empty(), "a value of an enum has no word");
    if (words[at] == word) return static_cast<Enum>(at);
  }
  Error error(Errc::kInvalid, "'" + std::string(word) + "' is not " + what);
  error.with_value(std::string(word));
  if (const std::string near = nearest(word, words); !near.empty()) {
    return error.with_hint("did you mean " + near + "?");
  }
  std::string all;
  for (const std::string_view known : words) all += (all.empty() ? "" : ", ") + std::string(known);
  return error.with_hint("write one of " + all);
}

}  // namespace runnel::model::detail
