#include "cli/text_width.h"

#include <algorithm>

#include "base/check.h"
#include "cli/code_point.h"

namespace runnel::cli {
namespace {

constexpr std::string_view kGoesOn = "…";

// The beginning of the text that fits, in bytes.
std::size_t fitting(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  std::size_t taken = 0;
  while (bytes < text.size()) {
    const CodePoint point = first_code_point(text.substr(bytes));
    taken += columns_of(point);
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
    width += columns_of(point);
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
