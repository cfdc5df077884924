#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <system_error>

namespace runnel::model::detail {

// The number that a text is as a whole; nothing when it is none.
template <typename T>
std::optional<T> whole(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace runnel::model::detail
