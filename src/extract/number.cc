#include "extract/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/ascii_case.h"
#include "base/check.h"
#include "json/value.h"

namespace runnel::extract {
namespace {

constexpr std::size_t kNumberBytesMax = 64;

// "", when the text names a number.
std::string unusual(std::string_view text, bool negative) {
  if (equal_ignoring_case(text, "nan")) return "nan";
  if (!equal_ignoring_case(text, "inf") && !equal_ignoring_case(text, "infinity")) return "";
  return negative ? "-inf" : "inf";
}

std::optional<std::string> from_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (problem != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return std::to_string(value);
}

// As JSON wants it: digits on both sides of the point, and no zero before others.
std::optional<std::string> from_decimal(std::string_view text) {
  const std::size_t rest_at = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view whole = text.substr(0, rest_at);
  std::string_view rest = text.substr(rest_at);
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  std::string number(whole.empty() ? "0" : whole);
  const bool point = rest.starts_with('.');
  if (point) rest.remove_prefix(1);
  const std::size_t after = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (whole.empty() && after == 0) return std::nullopt;
  if (point && after > 0) number.append(".").append(rest.substr(0, after));
  number.append(rest.substr(after));
  if (!json::is_number(number)) return std::nullopt;
  return number;
}

template <typename Real>
std::string shortest_text(Real value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, kNumberBytesMax> text{};
  const auto [end, problem] = std::to_chars(text.data(), text.data() + text.size(), value);
  CHECK(problem == std::errc(), "a number has more digits than any");
  return {text.data(), end};
}

}  // namespace

std::optional<std::string> metric_number(std::string_view text, Digits digits) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > kNumberBytesMax) return std::nullopt;
  const bool marked = text.starts_with("0x") || text.starts_with("0X");
  if (marked) text.remove_prefix(2);
  const bool hex = marked || digits == Digits::kHex;
  if (std::string word = hex ? "" : unusual(text, negative); !word.empty()) return word;
  std::optional<std::string> number = hex ? from_hex(text) : from_decimal(text);
  if (number && negative) number->insert(0, "-");
  return number;
}

std::string metric_number(float value) { return shortest_text(value); }
std::string metric_number(double value) { return shortest_text(value); }

std::optional<std::int64_t> step_number(std::string_view number) {
  std::int64_t step = 0;
  const auto [stop, problem] = std::from_chars(number.data(), number.data() + number.size(), step);
  if (problem != std::errc() || stop != number.data() + number.size() || step < 0) {
    return std::nullopt;
  }
  return step;
}

}  // namespace runnel::extract
