#include "runner/report_text.h"

#include <string_view>

namespace runnel::runner {
namespace {

constexpr std::string_view kMore = "...";

// The second and later bytes of a character in UTF-8.
bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::string report_text(std::string text) {
  if (text.size() <= kReportTextMax) return text;
  std::size_t end = kReportTextMax - kMore.size();
  while (end > 0 && continues_character(text[end])) --end;
  text.resize(end);
  return text.append(kMore);
}

}  // namespace runnel::runner
