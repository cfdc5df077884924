#include "spec/yaml_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "spec/yaml.h"

namespace runnel::spec {
namespace {

std::string hex_byte(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 15];
}

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// Bytes of the UTF-8 character at `at`; 0 when it is not one (overlong and surrogates included).
std::size_t character_length(std::string_view text, std::size_t at) {
  const unsigned char lead = byte_at(text, at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte_at(text, at + 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

Error too_large(std::size_t size) {
  return Error(Errc::kInvalid, "the file has " + std::to_string(size) + " bytes, more than " +
                                   runnel::to_string(Bytes::count(kYamlBytesMax)))
      .with_value(std::to_string(size))
      .with_hint("keep data in files of their own and name them in `run`");
}

Error not_utf8(unsigned char byte) {
  return Error(Errc::kInvalid, "the byte " + hex_byte(byte) + " is not UTF-8 text")
      .with_value(hex_byte(byte))
      .with_hint("save the file as UTF-8");
}

Error control_character(unsigned char byte) {
  return Error(Errc::kInvalid, "the control character " + hex_byte(byte) + " is not allowed")
      .with_value(hex_byte(byte))
      .with_hint("delete it, or save the file as UTF-8 text");
}

bool is_forbidden_control(std::string_view text, std::size_t at) {
  const unsigned char byte = byte_at(text, at);
  if (byte == '\r') return at + 1 >= text.size() || text[at + 1] != '\n';
  return (byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7F;
}

std::size_t line_start(std::string_view text, std::size_t offset) {
  CHECK(offset <= text.size(), "a line begins inside the text");
  if (offset == 0) return 0;
  const std::size_t newline = text.rfind('\n', offset - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// The tab among the white space that begins the line at `start`, before byte `end`.
std::optional<std::size_t> leading_tab(std::string_view text, std::size_t start, std::size_t end) {
  CHECK(start <= end, "a line ends after it begins");
  CHECK(end <= text.size(), "a line ends inside the text");
  for (std::size_t at = start; at < end; ++at) {
    if (text[at] == '\t') return at;
    if (text[at] != ' ') return std::nullopt;
  }
  return std::nullopt;
}

// A message of yaml-cpp, and what it means to somebody who wrote the file.
struct Explanation {
  std::string_view said;
  std::string_view meaning;
  std::string_view hint;
};

constexpr std::array<Explanation, 22> kExplanations = {{
    {"illegal map value", "a second ':' or a wrong indentation stands here",
     "put quotes around text that holds ': ', or write it below `run: |`"},
    {"illegal map key", "a key may not begin here", "check the indentation of this line"},
    {"illegal block entry", "a list item may not begin here", "check the indentation of the '-'"},
    {"end of map not found", "this line does not belong to the mapping above it",
     "give the fields of one mapping the same indentation"},
    {"end of sequence not found", "this line does not belong to the list above it",
     "give the items of one list the same indentation"},
    {"end of map flow not found", "a '{' above is not closed", "add the missing '}' or ','"},
    {"end of sequence flow not found", "a '[' above is not closed", "add the missing ']' or ','"},
    {"illegal flow end", "a ']' or '}' closes nothing", "delete it, or open the list before it"},
    {"unknown token", "a value cannot begin with this character",
     "put quotes around the text, or write it below `run: |`"},
    {"illegal EOF in scalar", "a quoted text is not closed", "add the missing quote"},
    {"illegal document indicator in scalar", "a quoted text is not closed before '---'",
     "add the missing quote"},
    {"unknown escape character: ", "an unknown escape stands in a text in double quotes",
     "use single quotes, or write \\\\ for a backslash"},
    {"bad character found while scanning hex number", "an escape holds a bad hexadecimal number",
     "use single quotes, or write \\\\ for a backslash"},
    {"invalid unicode: ", "an escape does not name a character",
     "use single quotes, or write \\\\ for a backslash"},
    {"the referenced anchor is not defined", "the alias refers to an anchor that is not above it",
     "define it first with &name"},
    {"alias not found after *", "a '*' without the name of an anchor",
     "put quotes around text that begins with '*'"},
    {"anchor not found after &", "a '&' without a name",
     "put quotes around text that begins with '&'"},
    {"illegal character found while scanning alias", "the name after '*' holds a bad character",
     "put quotes around text that begins with '*'"},
    {"illegal character found while scanning anchor", "the name after '&' holds a bad character",
     "put quotes around text that begins with '&'"},
    {"unexpected character in block scalar", "only a comment may follow '|' or '>' on its line",
     "write the text on the lines below"},
    {"cannot set zero indentation for a block scalar", "a block cannot have an indentation of 0",
     "write '|' alone"},
    {"aliases can't have any content, *including* tags", "an alias is followed by more text",
     "put quotes around text that begins with '*'"},
}};

constexpr std::string_view kFlowEnd = "flow not found";
constexpr std::string_view kPlaceholder = "{{";

// In flow style the braces of a placeholder open mappings, and no brace that is added helps.
bool is_placeholder_in_flow(std::string_view parser_message, std::string_view text,
                            std::size_t offset) {
  return parser_message.find(kFlowEnd) != std::string_view::npos && offset < text.size() &&
         text.substr(offset).starts_with(kPlaceholder);
}

Error placeholder_in_flow() {
  return Error(Errc::kInvalid, "not valid YAML: between { } or [ ] a '{{' stands only in quotes")
      .with_value(std::string(kPlaceholder))
      .with_hint("put quotes around the text, or write `run:` on a line of its own");
}

}  // namespace

std::optional<TextFault> fault_of_text(std::string_view text) {
  if (text.size() > kYamlBytesMax) return TextFault{0, too_large(text.size())};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    if (length == 0) return TextFault{at, not_utf8(byte_at(text, at))};
    if (is_forbidden_control(text, at)) return TextFault{at, control_character(byte_at(text, at))};
    at += length;
  }
  return std::nullopt;
}

bool indented_by_tab(std::string_view text, std::size_t offset) {
  const std::size_t end = std::min(offset, text.size());
  const std::size_t start = line_start(text, end);
  const bool only_space = std::all_of(text.begin() + static_cast<std::ptrdiff_t>(start),
                                      text.begin() + static_cast<std::ptrdiff_t>(end),
                                      [](char c) { return c == ' ' || c == '\t'; });
  return only_space && leading_tab(text, start, end).has_value();
}

std::optional<std::size_t> tab_near(std::string_view text, std::size_t offset) {
  const std::size_t here = line_start(text, std::min(offset, text.size()));
  if (here > 0) {
    const std::size_t above = line_start(text, here - 1);
    if (const auto tab = leading_tab(text, above, here)) return tab;
  }
  return leading_tab(text, here, text.size());
}

bool quote_is_closed(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return true;
  const char quote = text[offset];
  if (quote != '"' && quote != '\'') return true;
  for (std::size_t at = offset + 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      const bool doubled = quote == '\'' && at + 1 < text.size() && text[at + 1] == quote;
      if (!doubled) return true;
      ++at;
    }
  }
  return false;
}

Error tab_error() {
  return Error(Errc::kInvalid, "a tab indents this line, and YAML allows only spaces there")
      .with_value("\\t")
      .with_hint("indent with spaces");
}

Error explain_yaml_error(std::string_view parser_message, std::string_view text,
                         std::size_t offset) {
  if (is_placeholder_in_flow(parser_message, text, offset)) return placeholder_in_flow();
  for (const Explanation& known : kExplanations) {
    if (!parser_message.starts_with(known.said)) continue;
    return Error(Errc::kInvalid, "not valid YAML: " + std::string(known.meaning))
        .with_value(offset < text.size() ? std::string(1, text[offset]) : "")
        .with_hint(std::string(known.hint));
  }
  return Error(Errc::kInvalid, "not valid YAML: " + std::string(parser_message))
      .with_hint("check the indentation and the quotes near this place");
}

}  // namespace runnel::spec
