#include "base/shown.h"

namespace runnel {
namespace {

constexpr std::size_t kShownMax = 60;

// Cuts at the border of a character.
std::string cut(std::string_view text) {
  if (text.size() <= kShownMax) return std::string(text);
  std::size_t end = kShownMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace

std::string shown(std::string_view text) {
  const std::size_t newline = text.find('\n');
  if (newline == std::string_view::npos) return cut(text);
  return cut(text.substr(0, newline)) + (newline <= kShownMax ? "..." : "");
}

std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    text.append(text.empty() ? "`" : ", `").append(word).append("`");
  }
  return text;
}

}  // namespace runnel
