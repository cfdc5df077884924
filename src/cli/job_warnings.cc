#include "cli/job_warnings.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <variant>

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

// "$name" or "${name...".
bool is_expanded(const std::string& script, const std::string& name) {
  const auto is_of_name = [](char each) {
    return each == '_' || std::isalnum(static_cast<unsigned char>(each)) != 0;
  };
  for (const std::string& begin : {"$" + name, "${" + name}) {
    for (std::size_t at = script.find(begin); at != std::string::npos;
         at = script.find(begin, at + 1)) {
      const std::size_t end = at + begin.size();
      if (end == script.size() || !is_of_name(script[end])) return true;
    }
  }
  return false;
}

// "name=" as the shell assigns it.
bool is_assigned(const std::string& script, const std::string& name) {
  constexpr std::string_view kBefore = " \t\n;&|(";
  const std::string assignment = name + "=";
  for (std::size_t at = script.find(assignment); at != std::string::npos;
       at = script.find(assignment, at + 1)) {
    if (at == 0 || kBefore.find(script[at - 1]) != std::string_view::npos) return true;
  }
  return false;
}

bool is_variable(const model::StepSpec& step, const std::string& name) {
  const auto has_name = [&name](const auto& variable) { return variable.first == name; };
  return std::any_of(step.envs.begin(), step.envs.end(), has_name) ||
         std::any_of(step.secrets.begin(), step.secrets.end(),
                     [&name](const model::SecretRef& secret) { return secret.name == name; });
}

}  // namespace

std::vector<std::string> shell_parameter_warnings(const model::JobSpec& spec) {
  std::vector<std::string> warnings;
  for (const model::StepSpec& step : spec.steps) {
    const auto* const command = std::get_if<model::Command>(&step.run);
    if (command == nullptr) continue;
    for (const model::Parameter& parameter : step.params) {
      const std::string& name = parameter.name;
      if (!is_expanded(command->script, name)) continue;
      if (is_assigned(command->script, name) || is_variable(step, name)) continue;
      warnings.push_back("steps." + step.name + ".run has $" + name +
                         ", a variable of the shell: the parameter is written {{" + name + "}}");
    }
  }
  return warnings;
}

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

namespace {

// Or runs elsewhere, or says itself which devices it sees.
bool asks_for_devices(const model::StepSpec& step) {
  return step.is_external() || !step.resources.accelerators.empty() ||
         std::any_of(step.envs.begin(), step.envs.end(), [](const auto& variable) {
           return model::is_device_variable(variable.first);
         });
}

}  // namespace

std::vector<std::string> unused_device_warnings(const model::JobSpec& spec,
                                                const std::vector<model::NodeInfo>& nodes) {
  if (std::any_of(spec.steps.begin(), spec.steps.end(), asks_for_devices)) return {};
  std::map<std::string, std::int64_t> devices;
  for (const model::NodeInfo& node : nodes) {
    for (const auto& [kind, count] : node.capacity.accelerators) devices[kind] += count;
  }
  std::string all;
  for (const auto& [kind, count] : devices) {
    all += (all.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  }
  if (all.empty()) return {};
  const std::string ask = devices.begin()->first + ":1";
  return {"the job asks for no device, so its tasks see none of this home's " + all +
          "; where they need one: --gpus " + ask + ", or resources: {accelerators: \"" + ask +
          "\"}"};
}

}  // namespace runnel::cli
