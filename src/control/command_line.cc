#include "control/command_line.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/shell_word.h"

namespace runnel::control {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view line) {
  const std::size_t first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return "";
  return line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

// The first line that does something, and whether anything follows it.
std::string first_line(std::string_view script) {
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    const std::string_view line = trimmed(script.substr(0, end));
    script.remove_prefix(std::min(end + 1, script.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const bool more = script.find_first_not_of(" \t\r\n") != std::string_view::npos;
    return std::string(line) + (more ? " ..." : "");
  }
  return "";
}

// Where to cut so that no character of UTF-8 is torn.
std::size_t whole_characters(std::string_view text, std::size_t bytes_max) {
  const auto inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  CHECK(bytes_max < text.size(), "a text is cut that is short enough");
  std::size_t end = bytes_max;
  while (end > 0 && inside(end)) --end;
  return end;
}

}  // namespace

std::string command_line(const model::StepSpec& step) {
  const model::Command* command = step.command();
  if (command == nullptr) return "";
  CHECK(command->script.empty() || command->argv.empty(), "a step runs a script or a command");
  std::string text = first_line(command->script);
  for (const std::string& word : command->argv)
    text += (text.empty() ? "" : " ") + shell_word(word);
  if (text.size() <= kCommandLineBytesMax) return text;
  return text.substr(0, whole_characters(text, kCommandLineBytesMax)) + "...";
}

}  // namespace runnel::control
