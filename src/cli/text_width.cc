#include "cli/text_width.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "cli/code_point.h"

namespace runnel::cli {
namespace {

constexpr std::string_view kGoesOn = "…";

struct Range {
  char32_t first;
  char32_t last;
};

// East Asian wide characters and pictures.
constexpr std::array<Range, 12> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xA960, 0xA97C},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1F64F},
                                          {0x1F680, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};

// Accents and the like, which stand on the character before them.
constexpr std::array<Range, 6> kNarrow = {{{0x0300, 0x036F},
                                           {0x0483, 0x0489},
                                           {0x200B, 0x200F},
                                           {0x20D0, 0x20FF},
                                           {0xFE00, 0xFE0F},
                                           {0xE0100, 0xE01EF}}};

template <std::size_t Count>
bool holds(const std::array<Range, Count>& ranges, char32_t value) {
  return std::any_of(ranges.begin(), ranges.end(), [value](const Range& range) {
    return value >= range.first && value <= range.last;
  });
}

std::size_t width_of(char32_t value) {
  if (value < 0x300) return 1;
  if (holds(kNarrow, value)) return 0;
  return holds(kWide, value) ? 2 : 1;
}

// The beginning of the text that fits, in bytes.
std::size_t fitting(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  std::size_t taken = 0;
  while (bytes < text.size()) {
    const CodePoint point = first_code_point(text.substr(bytes));
    taken += width_of(point.value);
    if (taken > width) return bytes;
    bytes += point.bytes;
  }
  return bytes;
}

}  // namespace

std::size_t text_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    width += width_of(point.value);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string cut_to(std::string_view text, std::size_t width) {
  CHECK(width > 0, "no room for a sign that the text goes on");
  if (text_width(text) <= width) return std::string(text);
  return std::string(text.substr(0, fitting(text, width - 1))).append(kGoesOn);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t taken = 0;
  bool begins = true;  // The line: a space before its first word is an indentation of the text.
  for (std::size_t at = 0; at < text.size(); begins = false) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t room = text_width(word);
    at = end + 1;
    if (!begins && taken + 1 + room > width && text_width(lines.back()) > 0) {
      lines.emplace_back(word);
      taken = room;
      continue;
    }
    lines.back().append(begins ? "" : " ").append(word);
    taken += room + (begins ? 0 : 1);
  }
  return lines;
}

}  // namespace runnel::cli
