#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/nearest.h"
#include "spec/scalars.h"

namespace runnel::spec {

// The meaning of the item's word: `words` are those of T's values in their order. Refused, with the
// nearest, when it is none of them; `what` is "a mode".
template <typename T, std::size_t N>
std::optional<T> read_word(Scope& scope, const Item& item,
                           const std::array<std::string_view, N>& words, const char* what) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  for (std::size_t at = 0; at < N; ++at) {
    if (words[at] == *text) return static_cast<T>(at);
  }
  const std::string meant = nearest(*text, words);
  scope.refuse(item, "'" + shown(*text) + "' is not " + what, shown(*text),
               meant.empty() ? "write one of " + listed({words.begin(), words.end()})
                             : "did you mean `" + meant + "`?");
  return std::nullopt;
}

}  // namespace runnel::spec
