#include "extract/pattern.h"

#include <algorithm>
#include <map>

#include <re2/re2.h>

#include "base/check.h"
#include "extract/macro.h"

namespace runnel::extract {
namespace {

re2::RE2::Options options() {
  re2::RE2::Options chosen;
  chosen.set_log_errors(false);
  chosen.set_max_mem(Pattern::kMemoryMax);
  return chosen;
}

Error bad_regex(const re2::RE2& regex, const std::string& written) {
  const bool ours = written.find(regex.error_arg()) != std::string::npos;
  return Error(Errc::kInvalid, "the pattern is no regular expression: " + regex.error())
      .with_value(ours && !regex.error_arg().empty() ? regex.error_arg() : written)
      .with_hint("put `\\` before a character that means itself");
}

Error no_field(const std::string& written) {
  return Error(Errc::kInvalid, "the pattern has no field for a number")
      .with_value(written)
      .with_hint("name what it should read: %{FLOAT:loss}, or (?P<loss>[0-9.]+)");
}

Error twice(const std::string& field) {
  return Error(Errc::kInvalid, "the field '" + field + "' stands twice in the pattern")
      .with_value(field)
      .with_hint("give each its own name, or write two patterns");
}

}  // namespace

Pattern::Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::create(const model::LogPattern& spec) {
  const Expanded expanded = TRY(expand_macros(spec.regex));
  // By itself first: what is told of a fault must not show what we put around it.
  const re2::RE2 plain(expanded.regex, options());
  if (!plain.ok()) return bad_regex(plain, spec.regex);
  Pattern pattern;
  pattern.regex_ = std::make_unique<const re2::RE2>("(?m:" + expanded.regex + ")", options());
  if (!pattern.regex_->ok()) return bad_regex(*pattern.regex_, spec.regex);
  pattern.lines_ = static_cast<std::size_t>(spec.lines);
  const std::map<int, std::string>& names = pattern.regex_->CapturingGroupNames();
  for (const auto& [name, group] : pattern.regex_->NamedCapturingGroups()) {
    const auto says = [&](const auto& each) { return each.second == name; };
    if (std::count_if(names.begin(), names.end(), says) > 1) return twice(name);
    const auto known = expanded.fields.find(name);
    const auto kind = known == expanded.fields.end() ? Expanded::Kind::kNumber : known->second;
    if (kind == Expanded::Kind::kText) continue;
    const std::string metric = spec.group.empty() ? name : spec.group + "/" + name;
    const Digits digits = kind == Expanded::Kind::kHexNumber ? Digits::kHex : Digits::kDecimal;
    pattern.fields_.push_back({name, metric, group, digits, name == spec.step});
  }
  if (pattern.fields_.empty()) return no_field(spec.regex);
  return pattern;
}

std::optional<Pattern::Found> Pattern::find(std::string_view text) const {
  CHECK(regex_ != nullptr, "a pattern is used after it was moved");
  const int groups = regex_->NumberOfCapturingGroups() + 1;
  std::vector<re2::StringPiece> parts(static_cast<std::size_t>(groups));
  const re2::StringPiece whole(text.data(), text.size());
  // Most lines match nothing, and finding that out needs no groups.
  if (!regex_->Match(whole, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0)) return std::nullopt;
  regex_->Match(whole, 0, text.size(), re2::RE2::UNANCHORED, parts.data(), groups);
  Found found;
  for (const Field& field : fields_) {
    const re2::StringPiece& part = parts[static_cast<std::size_t>(field.group)];
    std::optional<std::string> number =
        metric_number(std::string_view(part.data(), part.size()), field.digits);
    if (!number) continue;
    if (field.is_step) {
      found.step = step_number(*number);
    } else {
      found.values.emplace_back(field.metric, *std::move(number));
    }
  }
  return found;
}

bool Pattern::has_field(std::string_view name) const {
  return std::any_of(fields_.begin(), fields_.end(),
                     [&](const Field& field) { return field.name == name; });
}

}  // namespace runnel::extract
