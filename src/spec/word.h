#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "spec/scalars.h"

namespace runnel::spec {

// A word of a field that has a few, and what it means.
template <typename T>
struct Word {
  std::string_view word;
  T meaning;
};

// The meaning of the item's word. Refused, with the nearest, when it is none of them; `what` is "a
// mode".
template <typename T, std::size_t N>
std::optional<T> read_word(Scope& scope, const Item& item, const std::array<Word<T>, N>& words,
                           const char* what) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  std::vector<std::string_view> known;
  for (const auto& [word, meaning] : words) {
    if (word == *text) return meaning;
    known.push_back(word);
  }
  const std::string meant = nearest(*text, known);
  scope.refuse(item, "'" + shown(*text) + "' is not " + what, shown(*text),
               meant.empty() ? "write one of " + listed(known) : "did you mean `" + meant + "`?");
  return std::nullopt;
}

}  // namespace runnel::spec
