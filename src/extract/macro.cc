#include "extract/macro.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"

namespace runnel::extract {
namespace {

using Kind = Expanded::Kind;

struct Macro {
  std::string_view name;
  std::string_view regex;
  Kind kind;
};

constexpr std::array<Macro, 6> kMacros = {{
    {"FLOAT",
     R"([+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|inf(?:inity)?)))",
     Kind::kNumber},
    // A month and day, or since glog 0.6 the year too; then the time.
    {"GLOG_STAMP", R"([IWEF](?:[0-9]{4}){1,2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)",
     Kind::kText},
    {"HEX", R"([+-]?(?:0[xX])?[0-9a-fA-F]+)", Kind::kHexNumber},
    {"INT", R"([+-]?[0-9]+)", Kind::kNumber},
    {"INT_ANY", R"([+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+))", Kind::kNumber},
    {"TIMESTAMP",
     R"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})"
     R"((?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)",
     Kind::kText},
}};

Error fault(std::string message, std::string_view written, std::string hint) {
  return Error(Errc::kInvalid, std::move(message))
      .with_value(std::string(written))
      .with_hint(std::move(hint));
}

Error unknown_macro(std::string_view name, std::string_view written) {
  std::vector<std::string_view> names;
  names.reserve(kMacros.size());
  for (const Macro& macro : kMacros) names.push_back(macro.name);
  const std::string meant = nearest(name, names);
  std::string known;
  for (const std::string_view each : names) {
    known.append(known.empty() ? "`" : ", `").append(each).append("`");
  }
  return fault("'" + std::string(written) + "' is not a macro", written,
               meant.empty() ? "the macros are " + known : "did you mean `" + meant + "`?");
}

bool is_field(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// `written` is the macro with its braces.
Result<void> add_macro(std::string_view written, Expanded& out) {
  CHECK(written.starts_with("%{"), "a macro begins with its braces");
  CHECK(written.ends_with('}'), "a macro ends with its braces");
  const std::string_view inside = written.substr(2, written.size() - 3);
  const std::string_view name = inside.substr(0, inside.find(':'));
  const auto macro = std::find_if(kMacros.begin(), kMacros.end(),
                                  [&](const Macro& each) { return each.name == name; });
  if (macro == kMacros.end()) return unknown_macro(name, written);
  if (name.size() == inside.size()) {
    out.regex.append("(?:").append(macro->regex).append(")");
    return {};
  }
  const std::string field(inside.substr(name.size() + 1));
  if (!is_field(field)) {
    return fault("'" + field + "' cannot be the name of a field", written,
                 "use letters, digits and _, beginning with a letter");
  }
  out.regex.append("(?P<").append(field).append(">").append(macro->regex).append(")");
  out.fields[field] = macro->kind;
  return {};
}

}  // namespace

Result<Expanded> expand_macros(std::string_view pattern) {
  Expanded out;
  while (!pattern.empty()) {
    const std::size_t begin = std::min(pattern.find("%{"), pattern.size());
    out.regex.append(pattern.substr(0, begin));
    pattern.remove_prefix(begin);
    if (pattern.empty()) break;
    const std::size_t end = pattern.find('}');
    if (end == std::string_view::npos) {
      return fault("'" + std::string(pattern) + "' is not closed", pattern,
                   "write %{FLOAT:loss}, or %\\{ for the two characters themselves");
    }
    TRY(add_macro(pattern.substr(0, end + 1), out));
    pattern.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace runnel::extract
