#include "spec/names.h"

#include <algorithm>

namespace runnel::spec {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
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

std::string name_fault(std::string_view text, const std::string& rule) {
  if (text.size() <= kNameMax) return rule;
  return "has " + std::to_string(text.size()) + " bytes, and a name at most " +
         std::to_string(kNameMax);
}

std::string as_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kNameMax)) {
    const char kept = is_name_byte(c) ? c : '-';
    const bool useless = name.empty() ? !is_alphanumeric(kept) : kept == '-' && name.back() == '-';
    if (!useless) name += kept;
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

}  // namespace runnel::spec
