#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "brain/state.h"
#include "model/refs.h"
#include "model/spec.h"

namespace runnel::brain {

// Everything that the text and the variables of one attempt may say. Borrows; lives for one order.
struct TaskView {
  const State& state;
  const Job& job;
  const model::StepSpec& step;
  const Lane& lane;
  model::AttemptRef attempt;
  const std::vector<std::pair<std::string, std::string>>& params;
};

// A text of the step with its `{{references}}` filled.
std::string fill(const TaskView& task, std::string_view text);

// The variables that all ranks of the attempt share, sorted by name: ours, and the user's envs,
// which win except over the variables that model::is_own_variable() names
// (docs/design/environment.md).
std::vector<std::pair<std::string, std::string>> task_environment(const TaskView& task);

// For each of the gang's places on the node the variables that show its devices; empty when the
// lane was granted none, or is from before they were granted by index.
std::vector<std::vector<std::pair<std::string, std::string>>> device_environment(
    const TaskView& task, const NodeId& node);

}  // namespace runnel::brain
