#include "cli/last_lines.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/output_line.h"
#include "cli/print.h"
#include "cli/printable.h"

namespace runnel::cli {
namespace {

constexpr std::size_t kLineBytesMax = 1'000;  // More of a line tells a person nothing.
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kUnseen = " \t\r\n";

bool begins_a_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::string shortened(std::string text) {
  if (text.size() <= kLineBytesMax) return text;
  std::size_t end = kLineBytesMax;
  while (end > 0 && !begins_a_character(text[end])) --end;
  return text.substr(0, end) + " ...";
}

// Without its line end. Of a line that was drawn over itself, as progress bars are, the last state
// that shows anything: a bar that is done wipes itself.
std::string shown_line(const json::Value& line) {
  std::string bytes = exact_bytes(line);
  const std::size_t shows = bytes.find_last_not_of(kUnseen);
  if (shows == std::string::npos) return "";
  bytes.resize(std::min(bytes.find('\r', shows), bytes.size()));
  while (bytes.ends_with('\n')) bytes.pop_back();
  const std::size_t drawn = bytes.rfind('\r');
  return shortened(printable(drawn == std::string::npos ? bytes : bytes.substr(drawn + 1)));
}

}  // namespace

void LastLines::Stream::add(std::string line) {
  if (line.find_first_not_of(kBlanks) == std::string::npos) {
    ++blank;
    return;
  }
  if (!lines.empty()) lines.resize(lines.size() + std::min(blank, kShown));
  blank = 0;
  lines.push_back(std::move(line));
  if (lines.size() > kShown) lines.erase(lines.begin(), lines.end() - kShown);
}

void LastLines::add(const json::Value& line) {
  Stream& stream = text_of(line, "stream") == "stderr" ? errors_ : output_;
  stream.add(shown_line(line));
}

}  // namespace runnel::cli
