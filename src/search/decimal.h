#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/check.h"

namespace runnel::search {

// The number that the whole text says; nothing when it says none or one out of range.
template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  Number value{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, problem] = std::from_chars(begin, end, value);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

// The same of a specification that was checked.
template <typename Number>
Number number_of(std::string_view text) {
  const std::optional<Number> value = parsed<Number>(text);
  CHECK(value.has_value(), "a bound of a parameter is no number in a checked spec");
  return *value;
}

// The shortest decimal text that reads back the same.
std::string shortest(double value);

// The double that is nearest to the first 15 decimal digits: 0.1 + 2 * 0.1 becomes 0.3.
double rounded_to_digits(double value);

}  // namespace runnel::search
