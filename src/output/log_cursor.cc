#include "output/log_cursor.h"

#include <charconv>
#include <string_view>
#include <vector>

namespace runnel::output {
namespace {

constexpr std::size_t kCursorBytesMax = 4 << 20;

bool parse_number(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool parse_open(std::string_view text, LogCursor& cursor) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() != 3 && parts.size() != 4) return false;
  std::int64_t number = 0;
  LogCursor::Open open;
  if (!parse_number(parts[0], number) || number >= cursor.records) return false;
  if (!parse_number(parts[1], open.read[0]) || !parse_number(parts[2], open.read[1])) return false;
  if (parts.size() == 4 && !parse_number(parts[3], open.gap_record)) return false;
  if (open.gap_record >= cursor.records) return false;
  return cursor.open.emplace(number, open).second;
}

Error not_a_cursor(const std::string& text) {
  return Error(Errc::kInvalid, "is not a place in this job's output")
      .with_field("cursor")
      .with_value(text.substr(0, 100))
      .with_hint("read again from the beginning");
}

}  // namespace

std::string to_string(const LogCursor& cursor) {
  std::string text = std::to_string(cursor.records);
  for (const auto& [number, open] : cursor.open) {
    text.append(";").append(std::to_string(number));
    text.append(".").append(std::to_string(open.read[0]));
    text.append(".").append(std::to_string(open.read[1]));
    if (open.gap_record >= 0) text.append(".").append(std::to_string(open.gap_record));
  }
  return text;
}

Result<LogCursor> parse_log_cursor(const std::string& text) {
  LogCursor cursor;
  if (text.empty()) return cursor;
  if (text.size() > kCursorBytesMax) return not_a_cursor(text);
  const std::vector<std::string_view> parts = split(text, ';');
  if (!parse_number(parts.front(), cursor.records)) return not_a_cursor(text);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!parse_open(parts[i], cursor)) return not_a_cursor(text);
  }
  return cursor;
}

}  // namespace runnel::output
