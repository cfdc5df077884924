#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace runnel::spec {

// A fault of a text and the byte where it stands.
struct TextFault {
  std::size_t offset = 0;
  Error error;
};

// A fault that a YAML text shows before it is parsed: too large, not UTF-8, control characters.
std::optional<TextFault> fault_of_text(std::string_view text);

// Whether the line that holds `offset` is indented by a tab before that byte.
bool indented_by_tab(std::string_view text, std::size_t offset);
// The byte of the tab that indents the line of `offset` or the one before it.
std::optional<std::size_t> tab_near(std::string_view text, std::size_t offset);

// Whether the quoted scalar that begins at `offset` has its closing quote.
bool quote_is_closed(std::string_view text, std::size_t offset);

// The error that a person reads for what the parser said about the byte at `offset`.
Error explain_yaml_error(std::string_view parser_message, std::string_view text,
                         std::size_t offset);
Error tab_error();

}  // namespace runnel::spec
