#include "model/parameters.h"

#include <algorithm>

#include "base/check.h"
#include "base/shown.h"
#include "model/detail/numbers.h"

namespace runnel::model {

std::optional<std::int64_t> value_count(const Parameter& parameter) {
  if (parameter.continuous()) return 1;
  if (parameter.kind == Parameter::Kind::kChoice) {
    return static_cast<std::int64_t>(parameter.values.size());
  }
  const auto low = detail::whole<std::int64_t>(parameter.low);
  const auto high = detail::whole<std::int64_t>(parameter.high);
  if (!low || !high || *low > *high) return 0;
  const std::uint64_t steps = static_cast<std::uint64_t>(*high) - static_cast<std::uint64_t>(*low);
  if (steps >= static_cast<std::uint64_t>(kGridCellsMax)) return std::nullopt;
  return static_cast<std::int64_t>(steps) + 1;
}

std::optional<std::int64_t> grid_cells(const std::vector<Parameter>& params) {
  std::int64_t cells = 1;
  for (const Parameter& parameter : params) {
    const std::optional<std::int64_t> count = value_count(parameter);
    if (!count) return std::nullopt;
    const std::int64_t values = std::max<std::int64_t>(*count, 1);
    if (cells > kGridCellsMax / values) return std::nullopt;
    cells *= values;
    CHECK(cells > 0, "the product was bounded before it was taken");
  }
  return cells;
}

std::optional<std::int64_t> task_count_of(const StepSpec& step) {
  if (step.search) return step.search->max_trials;
  if (step.samples) return step.samples;
  const bool real =
      std::ranges::any_of(step.params, [](const auto& each) { return each.continuous(); });
  const std::optional<std::int64_t> cells = real ? std::nullopt : grid_cells(step.params);
  return cells && *cells <= kTasksPerStepMax ? cells : std::nullopt;
}

bool is_possible(const Parameter& parameter, const std::string& value) {
  if (parameter.kind == Parameter::Kind::kChoice) {
    return std::ranges::find(parameter.values, value) != parameter.values.end();
  }
  if (!parameter.continuous() && !detail::whole<std::int64_t>(value)) return false;
  const auto number = detail::whole<double>(value);
  const auto low = detail::whole<double>(parameter.low);
  const auto high = detail::whole<double>(parameter.high);
  return number && low && high && *low <= *number && *number <= *high;
}

std::optional<Error> point_fault(const std::vector<Parameter>& params, const std::string& name,
                                 const std::string& value) {
  const auto parameter = std::ranges::find(params, name, &Parameter::name);
  const bool known = parameter != params.end();
  if (known && is_possible(*parameter, value)) return std::nullopt;
  return Error(Errc::kInvalid, known ? "'" + shown(value) + "' is not possible for '" + name + "'"
                                     : "'" + shown(name) + "' is not a parameter of this step")
      .with_value(shown(value))
      .with_hint("use the names and values of `params`");
}

}  // namespace runnel::model
