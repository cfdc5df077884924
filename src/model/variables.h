#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/order.h"
#include "model/spec.h"

namespace runnel::model {

// Environment variables of a task (docs/design/environment.md). Three hands fill them: the brain
// what all ranks of an attempt share, rank_variables() what tells the ranks apart, the agent the
// paths.

// Whether only Runnel gives this variable; what the user's envs say about it does not count. Any
// other variable of ours gives way to the user's. RUNNEL_ names we do not give are the user's own
// (RUNNEL_HOME for a task that calls us).
bool is_own_variable(std::string_view name);

// The variables in the step's `envs` that take the place of a value that we would give, in order.
std::vector<std::string> replaced_variables(const StepSpec& step);

// NAME of a secret from "env:NAME", a variable of the submitting shell; "" of one from a file.
std::string_view shell_variable(const SecretRef& secret);

// "RUNNEL_VOLUME_TRAIN_SET" of the volume that a job calls "train-set".
std::string volume_variable(std::string_view name);

// What the names of all branches begin with that tasks of a step write: "JOB.STEP".
std::string branches_of_step(const JobId& job, const StepSpec& step);
// The branch of a volume that a task writes: "JOB.STEP.TASK".
std::string branch_of_task(const std::string& step, TaskIndex task);
// The branch of a volume that a rank of a task writes, where `task` is the branch of the whole one:
// that, or in a gang "TASK.RANK".
std::string branch_of_rank(const std::string& task, std::int32_t rank, std::int32_t world_size);

// The variables that the order's `env` lacks for one of its ranks: RUNNEL_NODE_RANK always, those
// of the rank's place, and, in a gang, RANK, LOCAL_RANK, GROUP_RANK, NODE_RANK and PET_NODE_RANK,
// but those that the order sets already. CHECKs that the rank belongs to the order.
std::vector<std::pair<std::string, std::string>> rank_variables(const StartOrder& order,
                                                                std::int32_t rank);

}  // namespace runnel::model
