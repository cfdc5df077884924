#include "spec/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "spec/names.h"
#include "spec/scalars.h"

namespace runnel::spec {
namespace {

using model::Parameter;

constexpr std::int64_t kIntegerMax = std::int64_t{1}
                                     << 61;  // So that high - low + 1 cannot overflow.

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
    if (!value || *value < -kIntegerMax || *value > kIntegerMax) {
      scope.refuse(
          item, "'" + shown((*pair)[i]) + "' is not a whole number", shown((*pair)[i]),
          "write {range: [0, 99]} for whole numbers, {uniform: [low, high]} for real ones");
      return false;
    }
    ends[i] = *value;
  }
  if (ends[0] > ends[1]) {
    scope.refuse(item,
                 "the range begins at " + std::to_string(ends[0]) + ", above its end " +
                     std::to_string(ends[1]),
                 (*pair)[0], "write the smaller number first");
    return false;
  }
  CHECK(ends[1] - ends[0] >= 0, "the ends of a range are near enough to count it");
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
  const double low = number_of(ends[0]);
  if (low >= number_of(ends[1])) {
    scope.refuse(item, "low is " + ends[0] + " and high is " + ends[1], ends[0],
                 "write the smaller number first; a fixed value needs no range");
    return false;
  }
  if (kind == Parameter::Kind::kLogUniform && low <= 0) {
    scope.refuse(item, "a logarithm needs numbers above 0, and low is " + ends[0], ends[0],
                 "write a low above 0, or use `uniform`");
    return false;
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

bool read_object(Scope& scope, const Item& item, Parameter& parameter) {
  std::optional<ObjectReader> object = ObjectReader::open(scope, item, parameter_fields());
  if (!object) return false;
  const std::optional<Item> range = object->take("range");
  const std::optional<Item> uniform = object->take("uniform");
  const std::optional<Item> loguniform = object->take("loguniform");
  const std::optional<Item> choice = object->take("choice");
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
  if (range) return read_range(scope, *range, parameter);
  if (uniform) return read_real(scope, *uniform, Parameter::Kind::kUniform, parameter);
  if (loguniform) return read_real(scope, *loguniform, Parameter::Kind::kLogUniform, parameter);
  return read_values(scope, *choice, parameter);
}

bool read_parameter(Scope& scope, const Item& item, Parameter& parameter) {
  if (!is_identifier(parameter.name)) {
    scope.refuse(item, "'" + shown(parameter.name) + "' cannot be the name of a parameter",
                 shown(parameter.name), "use letters, digits and _, beginning with a letter");
    return false;
  }
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
    if (read_parameter(scope, at, parameter)) params.push_back(std::move(parameter));
  }
  return params;
}

std::optional<Parameter> read_foreach(Scope& scope, const Item& item) {
  Parameter parameter;
  parameter.name = "item";
  if (!item.node->is_list()) {
    scope.refuse(item, "`foreach` is a list, and this is " + std::string(kind_name(*item.node)),
                 shown(*item.node), "write [value, value]");
    return std::nullopt;
  }
  if (!read_values(scope, item, parameter)) return std::nullopt;
  return parameter;
}

std::int64_t value_count(const Parameter& parameter) {
  if (parameter.continuous()) return 1;
  if (parameter.kind == Parameter::Kind::kChoice) {
    return static_cast<std::int64_t>(parameter.values.size());
  }
  const std::optional<std::int64_t> low = integer_of(parameter.low);
  const std::optional<std::int64_t> high = integer_of(parameter.high);
  CHECK(low.has_value(), "a range was read from integers");
  CHECK(high.has_value(), "a range was read from integers");
  return *high - *low + 1;
}

std::optional<std::int64_t> grid_cells(const std::vector<Parameter>& params) {
  std::int64_t cells = 1;
  for (const Parameter& parameter : params) {
    const std::int64_t count = value_count(parameter);
    CHECK(count > 0, "a parameter has a value");
    if (cells > kGridCellsMax / count) return std::nullopt;
    cells *= count;
    CHECK(cells > 0, "the product was bounded before it was taken");
  }
  return cells;
}

}  // namespace runnel::spec
