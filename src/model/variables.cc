#include "model/variables.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/ascii_case.h"
#include "base/check.h"
#include "model/device_variables.h"

namespace runnel::model {
namespace {

// Sorted.
constexpr std::array<std::string_view, 24> kOwnVariables = {"RUNNEL_API",
                                                            "RUNNEL_ATTEMPT",
                                                            "RUNNEL_CHECKPOINT_DIR",
                                                            "RUNNEL_CHECKPOINT_EVERY",
                                                            "RUNNEL_DEVICES",
                                                            "RUNNEL_GPUS_PER_NODE",
                                                            "RUNNEL_JOB_DIR",
                                                            "RUNNEL_JOB_ID",
                                                            "RUNNEL_JOB_NAME",
                                                            "RUNNEL_METRICS_FILE",
                                                            "RUNNEL_NODE_IPS",
                                                            "RUNNEL_NODE_RANK",
                                                            "RUNNEL_NUM_NODES",
                                                            "RUNNEL_PREEMPT_FILE",
                                                            "RUNNEL_PROJECT",
                                                            "RUNNEL_REPORT_RANKS",
                                                            "RUNNEL_RESUME_FROM",
                                                            "RUNNEL_STEP",
                                                            "RUNNEL_TASK_COUNT",
                                                            "RUNNEL_TASK_DIR",
                                                            "RUNNEL_TASK_INDEX",
                                                            "RUNNEL_TOKEN",
                                                            "RUNNEL_TRIAL_ID",
                                                            "RUNNEL_TRIAL_PARAMS"};
static_assert(std::is_sorted(kOwnVariables.begin(), kOwnVariables.end()));

constexpr std::string_view kVolumeVariable = "RUNNEL_VOLUME_";

constexpr std::array<std::string_view, 3> kThreadVariables = {"MKL_NUM_THREADS", "OMP_NUM_THREADS",
                                                              "OPENBLAS_NUM_THREADS"};

constexpr std::array<std::string_view, 14> kGangVariables = {
    "GROUP_RANK",  "LOCAL_RANK",    "LOCAL_WORLD_SIZE",   "MASTER_ADDR",
    "MASTER_PORT", "NODE_RANK",     "PET_MASTER_ADDR",    "PET_MASTER_PORT",
    "PET_NNODES",  "PET_NODE_RANK", "PET_NPROC_PER_NODE", "PET_RDZV_ENDPOINT",
    "RANK",        "WORLD_SIZE"};

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Which names are given depends on the kinds of devices alone.
bool gives_device_variable(const StepSpec& step, std::string_view name) {
  Devices some;
  for (const auto& [kind, count] : step.resources.accelerators) some[kind].insert(0);
  const auto given = device_variables(some, step.resources);
  return std::any_of(given.begin(), given.end(),
                     [&](const auto& variable) { return variable.first == name; });
}

bool sets(const StartOrder& order, std::string_view name) {
  return std::any_of(order.env.begin(), order.env.end(),
                     [&](const auto& variable) { return variable.first == name; });
}

}  // namespace

bool is_own_variable(std::string_view name) {
  if (name.starts_with(kVolumeVariable)) return true;
  return std::binary_search(kOwnVariables.begin(), kOwnVariables.end(), name);
}

std::vector<std::string> replaced_variables(const StepSpec& step) {
  std::vector<std::string> names;
  for (const auto& [name, value] : step.envs) {
    const bool ours = holds(kThreadVariables, name) || gives_device_variable(step, name) ||
                      (step.rank_count() > 1 && holds(kGangVariables, name));
    if (ours) names.push_back(name);
  }
  return names;
}

std::string_view shell_variable(const SecretRef& secret) {
  constexpr std::string_view kShell = "env:";
  const std::string_view source = secret.source;
  return source.starts_with(kShell) ? source.substr(kShell.size()) : std::string_view();
}

std::string volume_variable(std::string_view name) {
  std::string variable(kVolumeVariable);
  for (const char c : name) variable += c == '-' ? '_' : to_upper(c);
  return variable;
}

std::string branches_of_step(const JobId& job, const StepSpec& step) {
  return job.str() + "." + step.name;
}

std::string branch_of_task(const std::string& step, TaskIndex task) {
  return step + "." + std::to_string(task.value());
}

std::string branch_of_rank(const std::string& task, std::int32_t rank, std::int32_t world_size) {
  CHECK(rank >= 0 && rank < world_size, "a branch of a rank that the task does not have");
  return world_size == 1 ? task : task + "." + std::to_string(rank);
}

std::vector<std::pair<std::string, std::string>> rank_variables(const StartOrder& order,
                                                                std::int32_t rank) {
  CHECK(rank >= order.first_rank, "a rank before those of its order");
  CHECK(rank - order.first_rank < order.rank_count, "a rank after those of its order");
  CHECK(order.num_nodes > 0, "an order without places");
  CHECK(order.world_size % order.num_nodes == 0,
        "the places of a gang have the same number of ranks");
  const std::int32_t per_node = order.world_size / order.num_nodes;
  const std::string node_rank = std::to_string(rank / per_node);
  std::vector<std::pair<std::string, std::string>> variables = {{"RUNNEL_NODE_RANK", node_rank}};
  const auto add = [&](std::string_view name, std::string value) {
    if (!sets(order, name)) variables.emplace_back(name, std::move(value));
  };
  if (!order.place_env.empty()) {
    const auto place = static_cast<std::size_t>((rank - order.first_rank) / per_node);
    for (const auto& [name, value] : order.place_env.at(place)) add(name, value);
  }
  if (order.world_size == 1) return variables;
  add("GROUP_RANK", node_rank);
  // With one process on a node this is torchrun's to say: it starts the processes that have local
  // ranks.
  if (per_node > 1) add("LOCAL_RANK", std::to_string(rank % per_node));
  add("NODE_RANK", node_rank);
  // To a torchrun that a rank calls, every rank is a node of its own.
  add("PET_NODE_RANK", std::to_string(rank));
  add("RANK", std::to_string(rank));
  return variables;
}

}  // namespace runnel::model
