#include "spec/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/ascii_case.h"
#include "json/value.h"

namespace runnel::spec {
namespace {

// Words that are a value or a mark of their own, in small letters.
constexpr std::array<std::string_view, 13> kWords = {
    "<<", "=", "false", "n", "no", "null", "off", "on", "true", "y", "yes", "~", ""};

bool is_word(const std::string& text) {
  const std::string word = to_lower(text);
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Numbers, dates, times and infinities begin so, and marks of a sequence, a key or a document.
bool begins_as_another(char first) {
  return (first >= '0' && first <= '9') ||
         std::string_view(".+-? ").find(first) != std::string_view::npos;
}

bool is_structure(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F ||
         std::string_view(":#{}[],&*!|>'\"%@`\\").find(c) != std::string_view::npos;
}

}  // namespace

std::string yaml_scalar(const std::string& text) {
  const bool plain = !is_word(text) && !begins_as_another(text.front()) && text.back() != ' ' &&
                     std::none_of(text.begin(), text.end(), is_structure);
  return plain ? text : json::Value::text(text).dump();
}

}  // namespace runnel::spec
