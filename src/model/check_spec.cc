#include "model/check_spec.h"

#include <algorithm>
#include <array>

#include "base/shown.h"
#include "model/detail/checks.h"
#include "model/names.h"

namespace runnel::model {
namespace {

using detail::Site;

// By its name, or by its position where the name is none or another's.
Site site_of(const Site& job, const JobSpec& spec, std::size_t index) {
  const std::string& name = spec.steps[index].name;
  const auto has_it = [&](const StepSpec& step) { return step.name == name; };
  const bool plain = is_step_name(name) && std::ranges::count_if(spec.steps, has_it) == 1;
  const Site steps = job.at("steps");
  return plain ? steps.at(name) : steps.at(index);
}

void check_job_name(const Site& at, const std::string& name) {
  if (!at.submitted()) return void(at.text(name, kNameBytesMax));
  if (is_name(name)) return;
  const std::string better = as_name(name);
  at.refuse(
      "'" + shown(name) + "' " + name_fault(name, "cannot be a name"), name,
      "use letters, digits, '-', '_' and '.'" + (better.empty() ? "" : ", such as " + better));
}

void check_workdir(const Site& at, const std::string& workdir) {
  if (!at.text(workdir, kPathBytesMax) || !at.submitted() || workdir.starts_with('/')) return;
  at.refuse("'" + shown(workdir) + "' is not an absolute path", workdir,
            "write one that begins with /");
}

void check_shell(const Site& at, const JobSpec& spec) {
  at.sized(spec.environment.size(), kEnvironmentMax, "variables");
  const std::string* previous = nullptr;
  for (const auto& [name, value] : spec.environment) {
    if (at.full()) return;
    if (!at.named(name)) continue;
    if (name.find('=') != std::string::npos) {
      at.refuse("the name of a variable holds no '='", name, "leave it out");
    }
    at.text(value, kScriptBytesMax);
    if (previous != nullptr && *previous >= name) {
      at.refuse("variables stand once each, sorted by name", name, "sort them");
    }
    previous = &name;
  }
}

void check_step_name(const Site& at, const StepSpec& step, detail::Seen<std::string>& names) {
  if (!at.submitted()) {
    if (!at.named(step.name)) return;
  } else if (!is_step_name(step.name)) {
    return at.refuse(
        "'" + shown(step.name) + "' " + name_fault(step.name, "cannot be the name of a step"),
        step.name, "use letters, digits, '-' and '_'");
  }
  if (!names.again(step.name)) return;
  at.refuse("there are two steps '" + shown(step.name) + "'", step.name, "rename one of them");
}

void check_publishing(const Site& at, const JobSpec& spec, const StepSpec& step) {
  if (!step.publishes) return;
  if (at.submitted()) {
    return at.refuse("a step that publishes what another one wrote comes by itself", "",
                     "leave it out");
  }
  const auto position = static_cast<std::size_t>(step.publishes->value());
  const bool is_there = position < spec.steps.size() && spec.steps[position].writes_volumes();
  if (!is_there) at.refuse("there is no step that writes volumes at this position", "", "");
}

void check_steps(const Site& job, const JobSpec& spec) {
  detail::Seen<std::string> names;
  for (std::size_t i = 0; i < spec.steps.size() && !job.full(); ++i) {
    const StepSpec& step = spec.steps[i];
    const Site at = site_of(job, spec, i);
    check_step_name(at.at("name"), step, names);
    check_publishing(at.at("publishes"), spec, step);
    detail::check_step(at, step);
    detail::check_tasks(at, step);
    detail::check_dependencies(at, spec, step);
    if (at.submitted()) detail::check_templates(at, spec, step);
  }
  detail::check_cycles(job, spec, site_of);
}

}  // namespace

bool stays_inside(std::string_view dir) {
  if (dir.empty() || dir.size() > kPathBytesMax || dir.starts_with('/')) return false;
  while (!dir.empty()) {
    const std::size_t slash = std::min(dir.find('/'), dir.size());
    if (dir.substr(0, slash) == "..") return false;
    dir.remove_prefix(std::min(slash + 1, dir.size()));
  }
  return true;
}

std::vector<Error> check_spec(const JobSpec& spec, Rules rules) {
  std::vector<Error> faults;
  const Site job(faults, rules);
  check_job_name(job.at("name"), spec.name);
  if (job.submitted()) job.at("priority").within(spec.priority, -kPriorityMax, kPriorityMax);
  if (job.submitted()) job.at("seed").within(spec.seed, 0, kInteger64Max);
  check_workdir(job.at("workdir"), spec.workdir);
  check_shell(job.at("environment"), spec);
  if (spec.steps.empty()) {
    job.at("steps").refuse("a job needs at least one step", "", "add one");
  } else if (job.at("steps").sized(spec.steps.size(), kStepsMax, "steps")) {
    check_steps(job, spec);
  }
  return faults;
}

Result<void> check_stored(const JobSpec& spec) {
  std::vector<Error> faults = check_spec(spec, Rules::kStored);
  if (faults.empty()) return {};
  return std::move(faults.front());
}

}  // namespace runnel::model
