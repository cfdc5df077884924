#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/spec.h"
#include "spec/scope.h"

namespace runnel::spec {

// The most combinations that `samples` may draw from; a full grid is bounded by kTasksPerStepMax.
inline constexpr std::int64_t kGridCellsMax = std::int64_t{1} << 62;

// `params`: a scalar, a list, {range}, {uniform}, {loguniform} or {choice} under each name.
std::vector<model::Parameter> read_parameters(Scope& scope, const Item& item);
// `foreach`: a grid of one parameter named `item`.
std::optional<model::Parameter> read_foreach(Scope& scope, const Item& item);

// A mapping of parameters of a search to values that are possible.
std::optional<std::vector<std::pair<std::string, std::string>>> read_point(
    Scope& scope, const Item& item, const std::vector<model::Parameter>& params);

// How many values a discrete parameter has; 1 for a continuous one, which spans no grid.
std::int64_t value_count(const model::Parameter& parameter);
// The cells of the grid, or nothing when there are more than kGridCellsMax.
std::optional<std::int64_t> grid_cells(const std::vector<model::Parameter>& params);

// A decimal number in the form of JSON ("0.5" for ".5"), digits otherwise as written; nothing when
// the text is not a finite number.
std::optional<std::string> decimal_text(std::string_view text);

}  // namespace runnel::spec
