#include "cli/code_point.h"

#include "base/check.h"
#include "json/writer.h"

namespace runnel::cli {
namespace {

std::size_t length_by(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xE0) return 2;
  return lead < 0xF0 ? 3 : 4;
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  CHECK(!text.empty(), "an empty text begins with nothing");
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = length_by(lead);
  if (length == 1) return {lead, 1, true};
  if (text.size() < length || !json::is_utf8(text.substr(0, length))) return {lead, 1, false};
  char32_t value = lead & (0xFFU >> (length + 1));
  for (std::size_t at = 1; at < length; ++at) {
    value = (value << 6) | (static_cast<unsigned char>(text[at]) & 0x3FU);
  }
  return {value, length, true};
}

}  // namespace runnel::cli
