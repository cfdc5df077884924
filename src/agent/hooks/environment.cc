#include "agent/hooks/environment.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "agent/runner/strays.h"
#include "base/check.h"
#include "model/variables.h"

namespace runnel::agent {
namespace {

constexpr std::array<std::string_view, 12> kNotInherited = {
    "GROUP_RANK",  "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
    "MASTER_PORT", "NODE_RANK",  "OLDPWD",           "PWD",
    "RANK",        "SHLVL",      "WORLD_SIZE",       "_"};
static_assert(std::is_sorted(kNotInherited.begin(), kNotInherited.end()));

// The runner sets these: it chooses the folders.
constexpr std::array<std::string_view, 6> kByRunner = {
    "RUNNEL_ATTEMPT_KEY",  "RUNNEL_CHECKPOINT_DIR", "RUNNEL_JOB_DIR",
    "RUNNEL_METRICS_FILE", "RUNNEL_RESUME_FROM",    "RUNNEL_TASK_DIR"};
static_assert(std::is_sorted(kByRunner.begin(), kByRunner.end()));

constexpr std::string_view kEnvSource = "env:";

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::string joined(const std::string& name, const std::string& value) {
  std::string text;
  text.reserve(name.size() + value.size() + 1);
  return text.append(name).append("=").append(value);
}

bool is_inherited(std::string_view name) {
  if (name.empty() || name.starts_with("RUNNEL_") || name.starts_with("PET_")) return false;
  return !std::binary_search(kNotInherited.begin(), kNotInherited.end(), name);
}

// Adds each name once: what comes first is the stronger.
class Layers {
 public:
  void add(const std::string& name, const std::string& value) {
    if (take(name)) out_.push_back(joined(name, value));
  }
  void add(const std::string& variable) {
    if (take(name_of(variable))) out_.push_back(variable);
  }
  bool take(std::string_view name) {
    if (std::binary_search(kByRunner.begin(), kByRunner.end(), name)) return false;
    return names_.insert(std::string(name)).second;
  }
  bool has(std::string_view name) const { return names_.contains(name); }
  std::vector<std::string> result() { return std::move(out_); }

 private:
  std::set<std::string, std::less<>> names_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> inheritable(const std::vector<std::string>& environment) {
  std::vector<std::string> kept;
  for (const std::string& variable : environment) {
    if (is_inherited(name_of(variable))) kept.push_back(variable);
  }
  return kept;
}

std::vector<std::string> detached_environment(const std::vector<std::string>& environment) {
  std::vector<std::string> own;
  for (const std::string& variable : environment) {
    if (name_of(variable) != kAttemptKeyName) own.push_back(variable);
  }
  own.push_back(joined(std::string(kAttemptKeyName), std::string(kDetachedKey)));
  return own;
}

RankEnvironments rank_environments(
    const model::StartOrder& order, const std::vector<std::string>& inherited,
    const std::vector<std::pair<std::string, std::string>>& secrets) {
  CHECK(order.rank_count > 0, "an order starts at least one rank");
  RankEnvironments environments;
  Layers layers;
  for (const auto& [name, value] : secrets) layers.add(name, value);
  // The ranks' own names are taken before anything weaker could use them.
  const Layers stronger = layers;
  for (std::int32_t i = 0; i < order.rank_count; ++i) {
    std::vector<std::string>& own = environments.by_rank.emplace_back();
    for (const auto& [name, value] : model::rank_variables(order, order.first_rank + i)) {
      if (!stronger.has(name)) own.push_back(joined(name, value));
      layers.take(name);
    }
  }
  for (const auto& [name, value] : order.env) layers.add(name, value);
  // The source of a secret is hidden, unless the task gets it under that name.
  for (const model::SecretRef& secret : order.secrets) {
    if (secret.source.starts_with(kEnvSource)) layers.take(secret.source.substr(kEnvSource.size()));
  }
  layers.add("PWD", order.workdir);
  for (const std::string& variable : inherited) layers.add(variable);
  environments.shared = layers.result();
  return environments;
}

}  // namespace runnel::agent
