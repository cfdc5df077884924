#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace runnel::extract {

enum class Digits : std::uint8_t { kDecimal, kHex };

// A number as programs print it (+3, .5, 007, 0x1F, NaN, -Infinity) as a metric's text: a JSON
// number, nan, inf or -inf. Nothing for what is none. kHex: digits are hexadecimal without 0x too.
std::optional<std::string> metric_number(std::string_view text, Digits digits);
// The same of a binary number: the shortest text that reads back as the same float or double.
std::string metric_number(float value);
std::string metric_number(double value);

// A metric's text as a step: a whole number from 0 on.
std::optional<std::int64_t> step_number(std::string_view number);

}  // namespace runnel::extract
