#include "cli/job_warnings.h"

#include <set>

#include "cli/shell_environment.h"
#include "model/device_variables.h"
#include "model/variables.h"

namespace runnel::cli {
namespace {

std::string hidden_devices(const std::string& name, const std::string& nodes_file) {
  return name +
         " is set in this shell, and a task that asks for no devices sees none; ask for them with "
         "--gpus, as " +
         nodes_file + " declares them, or pass the variable on with -e " + name +
         ": then nothing keeps others off these devices";
}

}  // namespace

std::vector<std::string> replaced_variable_warnings(const model::JobSpec& spec) {
  std::set<std::string> names;
  std::vector<std::string> warnings;
  for (const model::StepSpec& step : spec.steps) {
    for (const std::string& name : model::replaced_variables(step)) {
      if (!names.insert(name).second) continue;
      warnings.push_back("envs." + name + " takes the place of the value that Runnel gives");
    }
  }
  return warnings;
}

std::vector<std::string> left_behind_warnings(const model::JobSpec& spec,
                                              const std::vector<std::string>& environment,
                                              const std::string& nodes_file) {
  std::vector<std::string> warnings;
  std::string names;
  for (const std::string& name : left_behind(environment, spec)) {
    if (model::is_device_variable(name)) {
      warnings.push_back(hidden_devices(name, nodes_file));
    } else {
      names += (names.empty() ? "" : ", ") + name;
    }
  }
  if (!names.empty()) {
    warnings.push_back("set in this shell, but not passed to tasks: " + names +
                       "; pass on with -e NAME, `envs`, --secret NAME, or all with --env-all");
  }
  return warnings;
}

}  // namespace runnel::cli
