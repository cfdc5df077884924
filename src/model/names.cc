#include "model/names.h"

#include <algorithm>
#include <array>

#include "base/shown.h"
#include "model/spec.h"
#include "model/variables.h"

namespace runnel::model {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Latin letters with marks, U+00C0 to U+00FF, as they are written without.
constexpr std::array<std::string_view, 64> kPlain = {
    "A", "A", "A", "A", "Ae", "A", "Ae", "C", "E", "E", "E", "E", "I",  "I", "I",  "I",
    "D", "N", "O", "O", "O",  "O", "Oe", "-", "O", "U", "U", "U", "Ue", "Y", "Th", "ss",
    "a", "a", "a", "a", "ae", "a", "ae", "c", "e", "e", "e", "e", "i",  "i", "i",  "i",
    "d", "n", "o", "o", "o",  "o", "oe", "-", "o", "u", "u", "u", "ue", "y", "th", "y"};

std::string in_plain_letters(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    if (text[at] != '\xC3' || next < 0x80 || next > 0xBF) {
      plain += text[at];
      continue;
    }
    plain += kPlain[next - 0x80U];
    ++at;
  }
  return plain;
}

bool is_name_byte(char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; }

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax && is_alphanumeric(text[0]) &&
         std::all_of(text.begin(), text.end(), is_name_byte);
}

bool is_step_name(std::string_view text) {
  return is_name(text) && text.find('.') == std::string_view::npos;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '_'; });
}

bool is_volume_name(std::string_view text) {
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  return is_name(text) && text.size() <= kVolumeNameMax &&
         std::none_of(text.begin(), text.end(), is_capital);
}

bool is_secret_source(std::string_view source) {
  if (source.starts_with("env:")) return is_identifier(source.substr(4));
  return source.starts_with("file:/") && source.size() > 6 && source.size() < kPathBytesMax;
}

std::optional<Error> variable_fault(std::string_view name) {
  const auto fault = [&](std::string message, std::string hint) {
    return Error(Errc::kInvalid, "'" + shown(name) + "' " + std::move(message))
        .with_value(shown(name))
        .with_hint(std::move(hint));
  };
  if (!is_identifier(name)) {
    return fault("cannot be the name of an environment variable",
                 "use letters, digits and _, beginning with a letter");
  }
  if (is_own_variable(name)) return fault("is set by Runnel itself", "choose another name");
  return std::nullopt;
}

std::string name_fault(std::string_view text, const std::string& rule) {
  if (text.size() <= kNameMax) return rule;
  return "has " + std::to_string(text.size()) + " bytes, and a name at most " +
         std::to_string(kNameMax);
}

std::string as_name(std::string_view text) {
  std::string name;
  for (const char c : in_plain_letters(text).substr(0, kNameMax)) {
    const char kept = is_name_byte(c) ? c : '-';
    const bool useless = name.empty() ? !is_alphanumeric(kept) : kept == '-' && name.back() == '-';
    if (!useless) name += kept;
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

}  // namespace runnel::model
