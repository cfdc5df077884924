#include "brain/task_environment.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/device_variables.h"
#include "model/devices.h"
#include "model/template.h"
#include "model/variables.h"

namespace runnel::brain {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Values that read as numbers are numbers, so that a script can compute with what it gets.
std::string params_json(Variables params) {
  std::sort(params.begin(), params.end());
  std::string text;
  json::Writer out(text);
  out.begin_object();
  for (const auto& [name, value] : params) {
    out.key(name);
    json::is_number(value) ? out.raw(value) : out.text(value);
  }
  out.end_object();
  return text;
}

// One line per node of the gang as the gang sees it: a shared node is repeated.
std::string node_addresses(const TaskView& task) {
  std::string text;
  for (const model::Place& place : task.lane.places()) {
    const std::string& address = task.state.nodes.at(place.node).info.address;
    for (std::int32_t rank = 0; rank < place.ranks; rank += task.step.procs_per_node) {
      if (!text.empty()) text += '\n';
      text += address;
    }
  }
  return text;
}

std::int64_t devices_per_node(const TaskView& task) {
  std::int64_t devices = 0;
  for (const auto& [name, count] : task.lane.per_place.accelerators) devices += count;
  return devices;
}

// "90", "0.5": seconds.
std::string seconds_text(Duration duration) {
  std::string text = std::to_string(duration.millis() / 1000);
  if (duration.millis() % 1000 == 0) return text;
  std::string fraction = std::to_string(1000 + duration.millis() % 1000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

void add_own(const TaskView& task, Variables& out) {
  const std::string index = std::to_string(task.attempt.task.index.value());
  out.emplace_back("RUNNEL_JOB_ID", task.job.id.str());
  out.emplace_back("RUNNEL_JOB_NAME", task.job.spec->name);
  out.emplace_back("RUNNEL_PROJECT", task.job.project.str());
  out.emplace_back("RUNNEL_STEP", task.step.name);
  out.emplace_back("RUNNEL_TASK_INDEX", index);
  out.emplace_back("RUNNEL_TASK_COUNT", std::to_string(task.step.task_count));
  out.emplace_back("RUNNEL_ATTEMPT", std::to_string(task.attempt.attempt.value()));
  out.emplace_back("RUNNEL_NUM_NODES", std::to_string(task.step.num_nodes));
  out.emplace_back("RUNNEL_NODE_IPS", node_addresses(task));
  out.emplace_back("RUNNEL_GPUS_PER_NODE", std::to_string(devices_per_node(task)));
  out.emplace_back("RUNNEL_TRIAL_ID", task.job.id.str() + "-" + task.step.name + "-" + index);
  out.emplace_back("RUNNEL_TRIAL_PARAMS", params_json(task.params));
  // A health policy looks at each rank, and so wants to hear from each.
  if (task.step.health.any() && task.step.rank_count() > 1) {
    out.emplace_back("RUNNEL_REPORT_RANKS", "all");
  }
  if (!task.step.checkpoint || task.step.checkpoint->every.is_zero()) return;
  out.emplace_back("RUNNEL_CHECKPOINT_EVERY", seconds_text(task.step.checkpoint->every));
}

void add_threads(const TaskView& task, Variables& out) {
  const std::int64_t cores = task.lane.per_place.milli_cpus / 1000 / task.step.procs_per_node;
  const std::string threads = std::to_string(std::max<std::int64_t>(cores, 1));
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    out.emplace_back(name, threads);
  }
}

// Output goes to a file, and to a file Python prints by the block: what a program says would be
// seen when it ends.
void add_languages(Variables& out) { out.emplace_back("PYTHONUNBUFFERED", "1"); }

// Granted devices differ by place: see device_environment().
void add_devices(const TaskView& task, Variables& out) {
  if (devices_per_node(task) > 0) return;
  for (auto& variable : model::device_variables({}, {})) out.push_back(std::move(variable));
}

// Where the gang meets; the part that differs by rank is model::rank_variables()'s. A torchrun that
// a rank calls sees each rank as a node, and starts one process per device when the rank has its
// node for itself.
void add_gang(const TaskView& task, Variables& out) {
  const std::string world = std::to_string(task.step.rank_count());
  const std::string address = task.state.nodes.at(task.lane.places().front().node).info.address;
  const std::string port = std::to_string(task.lane.port);
  const bool one_per_node = task.step.procs_per_node == 1;
  const std::int64_t below = one_per_node ? std::max<std::int64_t>(devices_per_node(task), 1) : 1;
  const bool bracketed = address.find(':') != std::string::npos;  // An IPv6 address.
  out.emplace_back("MASTER_ADDR", address);
  out.emplace_back("MASTER_PORT", port);
  out.emplace_back("WORLD_SIZE", world);
  out.emplace_back("LOCAL_WORLD_SIZE", std::to_string(task.step.procs_per_node));
  out.emplace_back("PET_NNODES", world);
  out.emplace_back("PET_NPROC_PER_NODE", std::to_string(below));
  out.emplace_back("PET_MASTER_ADDR", address);
  out.emplace_back("PET_MASTER_PORT", port);
  out.emplace_back("PET_RDZV_ENDPOINT", (bracketed ? "[" + address + "]" : address) + ":" + port);
}

// The user's value takes the place of ours, but for what only we may say.
void merge(const TaskView& task, Variables& out) {
  const std::size_t ours = out.size();
  for (const auto& [name, value] : task.step.envs) {
    if (model::is_own_variable(name)) continue;
    const auto end = out.begin() + static_cast<std::ptrdiff_t>(ours);
    const auto same =
        std::find_if(out.begin(), end, [&](const auto& v) { return v.first == name; });
    if (same != end) {
      same->second = fill(task, value);
    } else {
      out.emplace_back(name, fill(task, value));
    }
  }
}

// The submitter's shell has the last word on nothing: neither ours nor the user's `envs`.
void add_shell(const TaskView& task, Variables& out) {
  const auto end = out.end() - out.begin();
  for (const auto& variable : task.job.spec->environment) {
    const auto taken = std::any_of(out.begin(), out.begin() + end,
                                   [&](const auto& v) { return v.first == variable.first; });
    const bool ours =
        model::is_own_variable(variable.first) || model::is_device_variable(variable.first);
    if (!taken && !ours) out.push_back(variable);
  }
}

// `best.STEP.name`: the parameter of the search's best trial; empty when a condition left it out.
std::optional<std::string> best_value(const Job& job, std::string_view name) {
  const std::optional<model::BestName> best = model::parse_best(name);
  if (!best) return std::nullopt;
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const std::optional<Study>& study = job.steps[i].study;
    if (job.spec->steps[i].name != best->step || !study || study->best < 0) continue;
    for (const auto& [own, value] :
         study->trials.at(static_cast<std::size_t>(study->best)).params) {
      if (own == best->name) return value;
    }
    return std::string();
  }
  return std::nullopt;
}

std::optional<std::string> value_of(const TaskView& task, std::string_view name) {
  for (const auto& [own, value] : task.params) {
    if (own == name) return value;
  }
  // Declared, and left out by a condition.
  const auto& declared = task.step.params;
  if (task.step.search && std::any_of(declared.begin(), declared.end(),
                                      [&](const auto& each) { return each.name == name; })) {
    return std::string();
  }
  if (name.starts_with(model::kBestPrefix)) return best_value(task.job, name);
  if (name == model::kJobIdName) return task.job.id.str();
  if (name == model::kJobNameName) return task.job.spec->name;
  if (name == model::kTaskIndexName) return std::to_string(task.attempt.task.index.value());
  if (name == model::kTaskCountName) return std::to_string(task.step.task_count);
  return std::nullopt;
}

}  // namespace

std::string fill(const TaskView& task, std::string_view text) {
  return model::fill_template(text, [&](std::string_view name) { return value_of(task, name); });
}

std::vector<Variables> device_environment(const TaskView& task, const NodeId& node) {
  const auto place = std::find_if(task.lane.places().begin(), task.lane.places().end(),
                                  [&](const model::Place& each) { return each.node == node; });
  CHECK(place != task.lane.places().end(), "a lane without a place on the node");
  std::vector<Variables> all;
  if (place->devices.empty()) return all;
  const model::Resources& capacity = task.state.nodes.at(node).info.capacity;
  const std::int32_t places = place->ranks / task.step.procs_per_node;
  for (std::int32_t each = 0; each < places; ++each) {
    const model::Devices granted = model::part_of(place->devices, each, places);
    all.push_back(model::device_variables(granted, capacity));
    all.back().emplace_back("RUNNEL_DEVICES", model::describe(granted));
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> task_environment(const TaskView& task) {
  CHECK(!task.lane.places().empty(), "a lane without places");
  CHECK(task.step.procs_per_node > 0, "a step with places of no processes");
  Variables out;
  out.reserve(32 + task.step.envs.size() + task.job.spec->environment.size());
  add_own(task, out);
  add_threads(task, out);
  add_languages(out);
  add_devices(task, out);
  if (task.step.rank_count() > 1) add_gang(task, out);
  merge(task, out);
  add_shell(task, out);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace runnel::brain
