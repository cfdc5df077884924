#include "cli/printable.h"

#include <cstdint>

#include "cli/code_point.h"

namespace runnel::cli {
namespace {

// Line and paragraph separators, and marks that turn the direction of what follows.
bool is_disguise(char32_t value) {
  return value == 0x200E || value == 0x200F || (value >= 0x2028 && value <= 0x202E) ||
         (value >= 0x2066 && value <= 0x2069);
}

bool is_control(char32_t value) { return value < 0x20 || (value >= 0x7F && value < 0xA0); }

std::string hexadecimal(std::uint32_t value, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (; value != 0 || text.size() < digits; value /= 16) text.insert(0, 1, kDigits[value % 16]);
  return text;
}

std::string escaped(const CodePoint& point) {
  if (point.valid && point.value == '\n') return "\\n";
  if (point.valid && point.value == '\t') return "\\t";
  if (point.valid && point.value == '\r') return "\\r";
  const bool short_one = point.value < 0x100;
  return (short_one ? "\\x" : "\\u") + hexadecimal(point.value, short_one ? 2 : 4);
}

std::string without_controls(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const bool plain = point.valid && !is_control(point.value) && !is_disguise(point.value);
    const bool is_kept = point.bytes == 1 && kept.find(text.front()) != std::string_view::npos;
    if (plain || is_kept) {
      out += text.substr(0, point.bytes);
    } else {
      out += escaped(point);
    }
    text.remove_prefix(point.bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return without_controls(text, ""); }
std::string printable_lines(std::string_view text) { return without_controls(text, "\n\t"); }

}  // namespace runnel::cli
