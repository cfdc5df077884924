#include "spec/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "spec/scalars.h"

namespace runnel::spec {
namespace {

using model::Parameter;

std::string_view take_digits(std::string_view& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// "e-4" and its kind, or "" without one; nothing when it is malformed.
std::optional<std::string> take_exponent(std::string_view& text) {
  if (!text.starts_with('e') && !text.starts_with('E')) return std::string();
  std::string out = "e";
  text.remove_prefix(1);
  if (text.starts_with('-')) out += '-';
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = take_digits(text);
  if (digits.empty()) return std::nullopt;
  return out.append(digits);
}

double number_of(const std::string& decimal) {
  double value = 0;
  const auto [end, code] = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  CHECK(end == decimal.data() + decimal.size(), "decimal_text() yields what from_chars reads");
  return code == std::errc() ? value : std::nan("");
}

// The two elements of [low, high], or nothing and a report.
std::optional<std::array<std::string, 2>> read_pair(Scope& scope, const Item& item) {
  if (!item.node->is_list() || item.node->items.size() != 2) {
    const std::string found = item.node->is_list()
                                  ? "a list of " + std::to_string(item.node->items.size())
                                  : "'" + shown(*item.node) + "'";
    scope.refuse(item, "two numbers belong here, and this is " + found, shown(*item.node),
                 "write [low, high]");
    return std::nullopt;
  }
  std::array<std::string, 2> pair;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto text =
        read_text(scope, {item.node->items[i].get(), item.path_of(std::to_string(i))});
    if (!text) return std::nullopt;
    pair[i] = *text;
  }
  return pair;
}

bool read_range(Scope& scope, const Item& item, Parameter& parameter) {
  const auto pair = read_pair(scope, item);
  if (!pair) return false;
  std::array<std::int64_t, 2> ends{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::optional<std::int64_t> value = integer_of((*pair)[i]);
    if (!value) {
      scope.refuse(
          item, "'" + shown((*pair)[i]) + "' is not a whole number", shown((*pair)[i]),
          "write {range: [0, 99]} for whole numbers, {uniform: [low, high]} for real ones");
      return false;
    }
    ends[i] = *value;
  }
  parameter.kind = Parameter::Kind::kRange;
  parameter.low = std::to_string(ends[0]);
  parameter.high = std::to_string(ends[1]);
  return true;
}

bool read_real(Scope& scope, const Item& item, Parameter::Kind kind, Parameter& parameter) {
  const auto pair = read_pair(scope, item);
  if (!pair) return false;
  std::array<std::string, 2> ends;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::optional<std::string> text = decimal_text((*pair)[i]);
    if (!text) {
      scope.refuse(item, "'" + shown((*pair)[i]) + "' is not a number", shown((*pair)[i]),
                   "write two numbers, such as [1e-4, 0.1]");
      return false;
    }
    ends[i] = *text;
  }
  CHECK(parameter.values.empty(), "an interval has no values");
  parameter.kind = kind;
  parameter.low = ends[0];
  parameter.high = ends[1];
  return true;
}

bool read_values(Scope& scope, const Item& item, Parameter& parameter) {
  parameter.kind = Parameter::Kind::kChoice;
  if (item.node->is_map()) {
    scope.refuse(item, "a list belongs here, and this is a mapping", "a mapping",
                 "write [value, value]");
    return false;
  }
  const std::vector<Item> items = texts_of(scope, item);
  for (const Item& element : items) parameter.values.push_back(element.node->text);
  return !items.empty() && (!item.node->is_list() || items.size() == item.node->items.size());
}

// The parts that a parameter may have besides its values when it is searched.
struct SearchedParts {
  std::optional<Item> log;
  std::optional<Item> step;
  std::optional<Item> when;
};

bool read_log(Scope& scope, const Item& item, Parameter& parameter) {
  const std::optional<bool> log = read_boolean(scope, item);
  if (log) parameter.log = *log;
  return log.has_value();
}

bool read_step(Scope& scope, const Item& item, Parameter& parameter) {
  const std::optional<std::string> text = read_text(scope, item);
  if (text) parameter.step = decimal_text(*text).value_or(*text);
  return text.has_value();
}

bool read_condition(Scope& scope, const Item& item, Parameter& parameter) {
  if (!item.node->is_map() || item.node->members.size() != 1) {
    scope.refuse(item, "`when` is a mapping of one earlier choice to its values", shown(*item.node),
                 "write {optimizer: [sgd, adam]}");
    return false;
  }
  const YamlMember& member = item.node->members.front();
  Parameter::Condition& when = parameter.when.emplace();
  when.parameter = member.key->text;
  const Item at{member.value.get(), item.path_of(shown(when.parameter))};
  for (const Item& value : texts_of(scope, at)) when.values.push_back(value.node->text);
  return !when.values.empty();
}

bool read_searched_parts(Scope& scope, const SearchedParts& parts, Parameter& parameter) {
  return (!parts.log || read_log(scope, *parts.log, parameter)) &&
         (!parts.step || read_step(scope, *parts.step, parameter)) &&
         (!parts.when || read_condition(scope, *parts.when, parameter));
}

// Stands in for a parameter that was refused, so that its name is known.
Parameter stand_in(const std::string& name) { return {.name = name, .values = {""}}; }

bool read_object(Scope& scope, const Item& item, Parameter& parameter) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, parameter_fields());
  if (!object) return false;
  const std::optional<Item> range = object->take("range");
  const std::optional<Item> uniform = object->take("uniform");
  const std::optional<Item> loguniform = object->take("loguniform");
  const std::optional<Item> choice = object->take("choice");
  const SearchedParts parts{object->take("log"), object->take("step"), object->take("when")};
  object->done();
  const int given =
      range.has_value() + uniform.has_value() + loguniform.has_value() + choice.has_value();
  if (given != 1) {
    const bool reported = given == 0 && !item.node->members.empty();
    if (!reported) {
      scope.refuse(
          item, "exactly one kind of values belongs here, and there are " + std::to_string(given),
          shown(*item.node), "write one of range, uniform, loguniform, choice");
    }
    return false;
  }
  bool read = false;
  if (range) read = read_range(scope, *range, parameter);
  if (uniform) read = read_real(scope, *uniform, Parameter::Kind::kUniform, parameter);
  if (loguniform) read = read_real(scope, *loguniform, Parameter::Kind::kLogUniform, parameter);
  if (choice) read = read_values(scope, *choice, parameter);
  return read && read_searched_parts(scope, parts, parameter);
}

bool read_parameter(Scope& scope, const Item& item, Parameter& parameter) {
  return item.node->is_map() ? read_object(scope, item, parameter)
                             : read_values(scope, item, parameter);
}

}  // namespace

std::optional<std::string> decimal_text(std::string_view text) {
  std::string out = text.starts_with('-') ? "-" : "";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  const bool point = text.starts_with('.');
  if (point) {
    text.remove_prefix(1);
    fraction = take_digits(text);
  }
  const std::optional<std::string> exponent = take_exponent(text);
  if ((whole.empty() && fraction.empty()) || !exponent || !text.empty()) return std::nullopt;
  const std::size_t first = std::min(whole.find_first_not_of('0'), whole.size());
  out += first == whole.size() ? "0" : whole.substr(first);
  if (!fraction.empty()) out.append(".").append(fraction);
  out += *exponent;
  if (!std::isfinite(number_of(out))) return std::nullopt;
  return out;
}

std::vector<Parameter> read_parameters(Scope& scope, const Item& item) {
  std::vector<Parameter> params;
  if (!item.node->is_map()) {
    scope.refuse(item,
                 "`params` is a mapping of names to values, and this is " +
                     std::string(kind_name(*item.node)),
                 shown(*item.node), "write {lr: [0.1, 0.01]}");
    return params;
  }
  if (item.node->members.size() > model::kParametersMax) {
    scope.refuse(item,
                 std::to_string(item.node->members.size()) + " parameters are more than " +
                     std::to_string(model::kParametersMax),
                 std::to_string(item.node->members.size()), "put fixed values into `run`");
    return params;
  }
  for (const YamlMember& member : item.node->members) {
    Parameter parameter;
    parameter.name = member.key->text;
    const Item at{member.value.get(), item.path_of(shown(member.key->text))};
    const bool read = read_parameter(scope, at, parameter);
    params.push_back(read ? std::move(parameter) : stand_in(member.key->text));
  }
  return params;
}

Parameter read_foreach(Scope& scope, const Item& item) {
  Parameter parameter;
  parameter.name = "item";
  if (!item.node->is_list()) {
    scope.refuse(item, "`foreach` is a list, and this is " + std::string(kind_name(*item.node)),
                 shown(*item.node), "write [value, value]");
    return stand_in("item");
  }
  return read_values(scope, item, parameter) ? parameter : stand_in("item");
}

std::optional<std::vector<std::pair<std::string, std::string>>> read_point(Scope& scope,
                                                                           const Item& item) {
  if (!item.node->is_map()) {
    scope.refuse(item, "a mapping of parameters to values belongs here", shown(*item.node),
                 "write {lr: 0.01}");
    return std::nullopt;
  }
  std::vector<std::pair<std::string, std::string>> point;
  for (const YamlMember& member : item.node->members) {
    const Item at{member.value.get(), item.path_of(shown(member.key->text))};
    const std::optional<std::string> value = read_text(scope, at);
    if (!value) return std::nullopt;
    point.emplace_back(member.key->text, *value);
  }
  return point;
}

}  // namespace runnel::spec
