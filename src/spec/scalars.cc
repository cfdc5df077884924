#include "spec/scalars.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/check.h"
#include "base/nearest.h"
#include "model/names.h"
#include "model/node.h"
#include "model/resources.h"
#include "model/spec.h"

namespace runnel::spec {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string in_quotes(std::string_view text) { return "'" + shown(text) + "'"; }

void refuse_unsupported(const Scope& scope, const Item& item, std::string message,
                        std::string value, std::string hint) {
  scope.refuse(item, Error(Errc::kUnsupported, std::move(message))
                         .with_value(std::move(value))
                         .with_hint(std::move(hint)));
}

// The value of `name`, or nothing and a report.
std::optional<std::string> variable(const Scope& scope, const Item& item, const std::string& name) {
  const auto found = scope.variables.find(name);
  if (found != scope.variables.end()) return found->second;
  std::vector<std::string_view> known;
  known.reserve(scope.variables.size());
  for (const auto& [candidate, value] : scope.variables) known.push_back(candidate);
  const std::string meant = nearest(name, known);
  scope.faults.report_inside(
      item, "${" + name + "}",
      Error(Errc::kInvalid, "'${" + name + "}' is not declared in `envs`")
          .with_value("${" + name + "}")
          .with_hint(meant.empty()
                         ? "declare it in `envs`, give it with -e, or write $${ for a literal ${"
                         : "did you mean `${" + meant + "}`?"));
  return std::nullopt;
}

std::optional<std::string> fill_variables(Scope& scope, const Item& item, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.starts_with("$${")) {
      out += "${";
      text.remove_prefix(3);
    } else if (text.starts_with("${") && text.find('}') != std::string_view::npos) {
      const std::string name(text.substr(2, text.find('}') - 2));
      const std::optional<std::string> value = variable(scope, item, name);
      if (!value) return std::nullopt;
      out += *value;
      text.remove_prefix(name.size() + 3);
    } else if (!text.empty()) {
      out += text[0];
      text.remove_prefix(1);
    }
  }
  return out;
}

// "at least 1", "from 1 to 100".
std::string allowed(Limits limits) {
  return "write a whole number from " + std::to_string(limits.low) + " to " +
         std::to_string(limits.high);
}

std::optional<std::int64_t> within(Scope& scope, const Item& item, std::string_view text,
                                   Limits limits) {
  CHECK(limits.low <= limits.high, "a field has a value");
  const std::optional<std::int64_t> value = integer_of(text);
  if (!value) {
    scope.refuse(item, in_quotes(text) + " is not a whole number", shown(text), allowed(limits));
    return std::nullopt;
  }
  if (*value < limits.low || *value > limits.high) {
    scope.refuse(item, shown(text) + (*value < limits.low ? " is too small" : " is too large"),
                 shown(text), allowed(limits));
    return std::nullopt;
  }
  return value;
}

// "16", from "16", "16+" and "16..": for amounts, where "at least" is what a request means anyway.
std::string_view without_at_least(std::string_view text) {
  if (text.ends_with('+')) return text.substr(0, text.size() - 1);
  if (text.ends_with("..")) return text.substr(0, text.size() - 2);
  return text;
}

bool is_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  return dots != std::string_view::npos && dots > 0 && dots + 2 < text.size();
}

void refuse_range(const Scope& scope, const Item& item, std::string_view text) {
  const std::string_view low = text.substr(0, text.find_first_of("+."));
  refuse_unsupported(scope, item, "the range " + in_quotes(text) + " is not in this version",
                     shown(text), "write one amount, such as " + shown(low));
}

void add_device(Scope& scope, const Item& item, std::string_view name, std::string_view count,
                Accelerators& out) {
  if (integer_of(name)) {
    return scope.refuse(item, in_quotes(name) + " does not name a device", shown(name),
                        integer_of(name) == 0
                            ? "leave it out for none"
                            : "write a name and a count, such as H100:" + shown(name));
  }
  if (name.ends_with('+') || (!name.empty() && is_digit(name[0]) && parse_bytes(name).ok())) {
    return refuse_unsupported(
        scope, item, "a device by its memory " + in_quotes(name) + " is not in this version",
        shown(name), "name it, such as H100:8");
  }
  if (!model::is_name(name)) {
    return scope.refuse(item, in_quotes(name) + " is not the name of a device", shown(name),
                        "write a name and a count, such as H100:8");
  }
  if (is_range(count) || count.ends_with('+') || count.ends_with("..")) {
    return refuse_range(scope, item, count);
  }
  if (count.find('.') != std::string_view::npos && scaled_decimal(count, 6)) {
    return refuse_unsupported(
        scope, item, "the fraction " + in_quotes(count) + " of a device is not in this version",
        shown(count), "ask for whole devices, such as " + std::string(name) + ":1");
  }
  const std::optional<std::int64_t> value =
      within(scope, item, count, {1, model::kAcceleratorsMax});
  if (value) out[std::string(name)] = *value;
}

}  // namespace

std::optional<std::int64_t> integer_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x")) base = 16;
  if (text.starts_with("0o")) base = 8;
  if (base != 10) text.remove_prefix(2);
  if (text.empty() || text[0] == '-' || text[0] == '+') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::int64_t> scaled_decimal(std::string_view text, int digits) {
  CHECK(digits >= 0, "a decimal has no fewer than 0 digits after its point");
  constexpr std::int64_t kValueMax = 100'000'000'000'000'000;
  std::int64_t value = 0;
  int decimals = -1;  // Digits after the point; -1 before it.
  bool any = false;
  for (const char c : text) {
    if (c == '.' && decimals < 0 && any) {
      decimals = 0;
    } else if (is_digit(c) && decimals < digits && value < kValueMax) {
      value = value * 10 + (c - '0');
      any = true;
      if (decimals >= 0) ++decimals;
    } else {
      return std::nullopt;
    }
  }
  if (!any || decimals == 0) return std::nullopt;
  for (int i = std::max(decimals, 0); i < digits; ++i) {
    if (value > kValueMax) return std::nullopt;
    value *= 10;
  }
  return value;
}

std::optional<std::string> read_verbatim(Scope& scope, const Item& item) {
  if (item.node->is_scalar()) return item.node->text;
  if (item.node->is_null()) {
    scope.refuse(item, "there is no value", "", "write one, in quotes if it is the text null or ~");
  } else {
    scope.refuse(item, "one value belongs here, and this is " + std::string(kind_name(*item.node)),
                 shown(*item.node),
                 item.node->is_map() ? "put quotes around text that holds ': ' or begins with '{'"
                                     : "write a single value");
  }
  return std::nullopt;
}

std::optional<std::string> read_text(Scope& scope, const Item& item) {
  const std::optional<std::string> text = read_verbatim(scope, item);
  if (!text) return std::nullopt;
  return fill_variables(scope, item, *text);
}

std::vector<Item> texts_of(Scope& scope, const Item& item) {
  if (!item.node->is_list()) {
    if (!read_verbatim(scope, item)) return {};
    return {item};
  }
  std::vector<Item> items;
  for (std::size_t i = 0; i < item.node->items.size(); ++i) {
    const Item element{item.node->items[i].get(), item.path_of(std::to_string(i))};
    if (read_verbatim(scope, element)) items.push_back(element);
  }
  if (item.node->items.empty()) {
    scope.refuse(item, "the list is empty", "[]", "write a value, or delete the field");
  }
  return items;
}

std::optional<std::int64_t> read_integer(Scope& scope, const Item& item, Limits limits) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  return within(scope, item, *text, limits);
}

std::optional<std::int64_t> read_count(Scope& scope, const Item& item, Limits limits) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  const bool open = text->ends_with('+') || text->ends_with("..");
  if (is_range(*text) || (open && integer_of(without_at_least(*text)))) {
    refuse_range(scope, item, *text);
    return std::nullopt;
  }
  return within(scope, item, *text, limits);
}

std::optional<bool> read_boolean(Scope& scope, const Item& item) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  if (*text == "true" || *text == "True" || *text == "TRUE") return true;
  if (*text == "false" || *text == "False" || *text == "FALSE") return false;
  scope.refuse(item, in_quotes(*text) + " is neither true nor false", shown(*text),
               "write true or false");
  return std::nullopt;
}

std::optional<std::int64_t> read_cpus(Scope& scope, const Item& item) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  if (is_range(*text)) {
    refuse_range(scope, item, *text);
    return std::nullopt;
  }
  const std::optional<std::int64_t> milli = scaled_decimal(without_at_least(*text), 3);
  if (!milli || *milli == 0 || *milli > model::kMilliCpusMax) {
    scope.refuse(item, in_quotes(*text) + " is not a number of cpus", shown(*text),
                 "write 0.5, 4 or 16+, at least 0.001 and at most 1000000");
    return std::nullopt;
  }
  return milli;
}

std::optional<Bytes> read_bytes(Scope& scope, const Item& item, Bytes low) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  if (is_range(*text)) {
    refuse_range(scope, item, *text);
    return std::nullopt;
  }
  const Result<Bytes> bytes = parse_bytes(without_at_least(*text));
  if (!bytes.ok()) {
    scope.refuse(item, bytes.error());
    return std::nullopt;
  }
  if (*bytes < low || *bytes > model::kMemoryMax) {
    scope.refuse(item, in_quotes(*text) + (*bytes < low ? " is too little" : " is too much"),
                 shown(*text),
                 "write an amount from " + runnel::to_string(low) + " to " +
                     runnel::to_string(model::kMemoryMax));
    return std::nullopt;
  }
  return *bytes;
}

namespace {

std::optional<Duration> duration_of(Scope& scope, const Item& item, std::string_view text,
                                    Duration low) {
  CHECK(low <= model::kDurationMax, "a field has a value");
  const Result<Duration> duration = parse_duration(text);
  if (!duration.ok()) {
    scope.refuse(item, duration.error());
    return std::nullopt;
  }
  if (*duration < low || *duration > model::kDurationMax) {
    scope.refuse(item, in_quotes(text) + (*duration < low ? " is too short" : " is too long"),
                 shown(text),
                 "write a time from " + runnel::to_string(low) + " to " +
                     runnel::to_string(model::kDurationMax));
    return std::nullopt;
  }
  return *duration;
}

}  // namespace

std::optional<Duration> read_duration(Scope& scope, const Item& item, Duration low) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  return duration_of(scope, item, *text, low);
}

std::optional<DurationRange> read_durations(Scope& scope, const Item& item) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  const std::size_t dots = text->find("..");
  const std::string_view all = *text;
  const auto low = duration_of(scope, item, all.substr(0, dots), Duration());
  if (!low || dots == std::string::npos) {
    return low ? std::optional(DurationRange{*low, *low}) : std::nullopt;
  }
  const auto high = duration_of(scope, item, all.substr(dots + 2), Duration());
  if (!high) return std::nullopt;
  if (*high < *low) {
    scope.refuse(item, in_quotes(all) + " begins above its end", shown(all),
                 "write the shorter time first, such as 30s..10m");
    return std::nullopt;
  }
  return DurationRange{*low, *high};
}

std::optional<Money> read_money(Scope& scope, const Item& item, const std::string& what) {
  const std::optional<std::string> text = read_text(scope, item);
  if (!text) return std::nullopt;
  const std::optional<std::int64_t> micros = scaled_decimal(*text, 6);
  if (!micros || *micros > model::kPriceMax.micros()) {
    scope.refuse(item,
                 in_quotes(*text) +
                     (micros ? " is more than a million dollars" : " is not an amount of dollars"),
                 shown(*text), "write " + what + ", such as 2.5");
    return std::nullopt;
  }
  return Money::micros(*micros);
}

std::optional<Accelerators> read_accelerators(Scope& scope, const Item& item) {
  Accelerators out;
  if (item.node->is_map()) {
    for (const YamlMember& member : item.node->members) {
      const Item count{member.value.get(), item.path_of(shown(member.key->text))};
      const std::optional<std::string> text = read_text(scope, count);
      if (text) add_device(scope, count, member.key->text, *text, out);
    }
  } else if (item.node->is_list()) {
    refuse_unsupported(scope, item, "a list of alternatives is not in this version", "a list",
                       "write one device, such as H100:8");
  } else if (const std::optional<std::string> text = read_text(scope, item)) {
    const std::size_t colon = text->rfind(':');
    const std::string_view all = *text;
    const bool counted = colon != std::string::npos;
    add_device(scope, item, all.substr(0, colon), counted ? all.substr(colon + 1) : "1", out);
  }
  if (out.empty()) return std::nullopt;
  return out;
}

}  // namespace runnel::spec
