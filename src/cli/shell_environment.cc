#include "cli/shell_environment.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "json/writer.h"
#include "model/device_variables.h"
#include "model/names.h"
#include "model/spec.h"
#include "model/store_variables.h"
#include "model/variables.h"
#include "spec/scope.h"

namespace runnel::cli {
namespace {

constexpr std::array<std::string_view, 20> kTaken = {"CONDA_DEFAULT_ENV",
                                                     "CONDA_PREFIX",
                                                     "CUDA_HOME",
                                                     "HF_HOME",
                                                     "HOME",
                                                     "JAVA_HOME",
                                                     "LANG",
                                                     "LD_LIBRARY_PATH",
                                                     "LOGNAME",
                                                     "PATH",
                                                     "PYTHONHOME",
                                                     "PYTHONPATH",
                                                     "SHELL",
                                                     "TMPDIR",
                                                     "TORCH_HOME",
                                                     "TZ",
                                                     "USER",
                                                     "VIRTUAL_ENV",
                                                     "XDG_CACHE_HOME",
                                                     "XDG_DATA_HOME"};
static_assert(std::is_sorted(kTaken.begin(), kTaken.end()));

// What programs for training, their services and clouds look for. Set in a shell, their absence in
// a task is seen late: a login prompt, a run on the wrong device.
constexpr std::array<std::string_view, 31> kLookedFor = {"ANTHROPIC_API_KEY",
                                                         "AWS_ACCESS_KEY_ID",
                                                         "AWS_DEFAULT_REGION",
                                                         "AWS_PROFILE",
                                                         "AWS_REGION",
                                                         "AWS_SECRET_ACCESS_KEY",
                                                         "AZURE_STORAGE_CONNECTION_STRING",
                                                         "COMET_API_KEY",
                                                         "CUDA_VISIBLE_DEVICES",
                                                         "GOOGLE_APPLICATION_CREDENTIALS",
                                                         "HF_TOKEN",
                                                         "HIP_VISIBLE_DEVICES",
                                                         "HTTPS_PROXY",
                                                         "HTTP_PROXY",
                                                         "HUGGING_FACE_HUB_TOKEN",
                                                         "KAGGLE_KEY",
                                                         "MKL_NUM_THREADS",
                                                         "MLFLOW_TRACKING_URI",
                                                         "NEPTUNE_API_TOKEN",
                                                         "NO_PROXY",
                                                         "OMP_NUM_THREADS",
                                                         "OPENAI_API_KEY",
                                                         "PYTORCH_CUDA_ALLOC_CONF",
                                                         "WANDB_API_KEY",
                                                         "WANDB_ENTITY",
                                                         "WANDB_MODE",
                                                         "WANDB_PROJECT",
                                                         "XLA_FLAGS",
                                                         "http_proxy",
                                                         "https_proxy",
                                                         "no_proxy"};
static_assert(std::is_sorted(kLookedFor.begin(), kLookedFor.end()));

constexpr std::array<std::string_view, 4> kOfTheShell = {"OLDPWD", "PWD", "SHLVL", "_"};

bool is_taken(std::string_view name) {
  return name.starts_with("LC_") || std::binary_search(kTaken.begin(), kTaken.end(), name);
}

// Whether the log can give it back as it is.
bool can_be_kept(const std::string& variable) {
  return variable.size() <= model::kScriptBytesMax && json::is_utf8(variable);
}

bool is_named(const model::StepSpec& step, std::string_view name) {
  const bool given = std::any_of(step.envs.begin(), step.envs.end(),
                                 [&](const auto& variable) { return variable.first == name; });
  return given || std::any_of(step.secrets.begin(), step.secrets.end(), [&](const auto& secret) {
           return secret.name == name || model::shell_variable(secret) == name;
         });
}

// Of a shell that is a task's: what Runnel gives every task it gave this one, too.
bool is_of_a_task(const std::vector<std::string>& environment) {
  return std::ranges::any_of(environment, [](const std::string& variable) {
    return variable.starts_with("RUNNEL_JOB_ID=");
  });
}

bool is_given_to_all(const std::string& name) {
  model::StepSpec step;
  step.envs = {{name, ""}};
  return !model::replaced_variables(step).empty();
}

// The mounts of the job's volumes have it, which alone need it.
bool is_for_volumes(const std::string& name, const model::JobSpec& spec) {
  return model::is_store_source("env:" + name) && model::reads_a_bucket(spec);
}

bool is_handed_on(std::string_view name) {
  return model::is_identifier(name) && !name.starts_with("RUNNEL_") &&
         std::find(kOfTheShell.begin(), kOfTheShell.end(), name) == kOfTheShell.end();
}

}  // namespace

std::vector<std::string> left_behind(const std::vector<std::string>& environment,
                                     const model::JobSpec& spec) {
  std::vector<std::string> names;
  const bool in_task = is_of_a_task(environment);
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (name.size() + 1 >= variable.size()) continue;  // Set to nothing.
    if (!std::binary_search(kLookedFor.begin(), kLookedFor.end(), name)) continue;
    if (is_for_volumes(name, spec) || (in_task && is_given_to_all(name))) continue;
    const bool shows_devices = model::is_device_variable(name);
    const auto has_it = [&](const model::StepSpec& step) {
      return is_named(step, name) || (shows_devices && !step.resources.accelerators.empty());
    };
    if (!std::all_of(spec.steps.begin(), spec.steps.end(), has_it)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void hand_on_all(const std::vector<std::string>& environment, model::JobSpec& spec) {
  for (model::StepSpec& step : spec.steps) {
    for (const std::string& variable : environment) {
      const std::size_t equals = variable.find('=');
      if (equals == std::string::npos || !can_be_kept(variable)) continue;
      const std::string name = variable.substr(0, equals);
      if (!is_handed_on(name) || is_named(step, name)) continue;
      step.envs.emplace_back(name, spec::template_literal(variable.substr(equals + 1)));
    }
    std::sort(step.envs.begin(), step.envs.end());
  }
}

std::vector<std::pair<std::string, std::string>> shell_environment(
    const std::vector<std::string>& environment) {
  std::vector<std::pair<std::string, std::string>> taken;
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || !is_taken(variable.substr(0, equals))) continue;
    if (!can_be_kept(variable)) continue;
    taken.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  std::sort(taken.begin(), taken.end());
  // An environment may hold a name twice; getenv() takes one of them.
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  taken.erase(std::unique(taken.begin(), taken.end(), same), taken.end());
  return taken;
}

}  // namespace runnel::cli
