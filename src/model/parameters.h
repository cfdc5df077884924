#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/spec.h"

namespace runnel::model {

// The most combinations that `samples` may draw from; a full grid is bounded by kTasksPerStepMax.
inline constexpr std::int64_t kGridCellsMax = std::int64_t{1} << 62;

// How many values a discrete parameter has; 1 for a continuous one, which spans no grid, and 0 for
// one that is at fault. Nothing when it has more than kGridCellsMax.
std::optional<std::int64_t> value_count(const Parameter& parameter);
// The cells of the grid that the sound parameters span; nothing when they are more than
// kGridCellsMax.
std::optional<std::int64_t> grid_cells(const std::vector<Parameter>& params);

// The tasks that follow from samples, search or grid; nothing when none of them says so.
std::optional<std::int64_t> task_count_of(const StepSpec& step);

// Whether a trial can have this value: one of a choice, a number between the ends.
bool is_possible(const Parameter& parameter, const std::string& value);
// Why no trial can have this value of this name; nothing when one can.
std::optional<Error> point_fault(const std::vector<Parameter>& params, const std::string& name,
                                 const std::string& value);

}  // namespace runnel::model
