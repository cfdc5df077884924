#include "agent/environment.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "model/variables.h"
#include "runner/orphans.h"

namespace runnel::agent {
namespace {

// Variables that a program may expect of any machine; the rest belongs to whoever happened to start
// the daemon.
constexpr std::array<std::string_view, 8> kInherited = {"HOME",  "LANG",   "LOGNAME", "PATH",
                                                        "SHELL", "TMPDIR", "TZ",      "USER"};
static_assert(std::is_sorted(kInherited.begin(), kInherited.end()));

// Variables that decide where our own program finds its prices, how it is loaded, and how builds
// and clocks under test behave. docs/design/environment.md gives the reason for each.
constexpr std::array<std::string_view, 15> kOfOurProgram = {
    "ASAN_OPTIONS",         "ASAN_SYMBOLIZER_PATH",    "FAKETIME_DONT_FAKE_MONOTONIC",
    "FAKETIME_NO_CACHE",    "FAKETIME_TIMESTAMP_FILE", "LD_LIBRARY_PATH",
    "LD_PRELOAD",           "LLVM_PROFILE_FILE",       "LSAN_OPTIONS",
    "RUNNEL_ANSWERS",       "RUNNEL_TURN_MAX",         "TSAN_OPTIONS",
    "TSAN_SYMBOLIZER_PATH", "UBSAN_OPTIONS",           "XDG_CONFIG_HOME"};
static_assert(std::is_sorted(kOfOurProgram.begin(), kOfOurProgram.end()));

// The runner sets these: it chooses the folders.
constexpr std::array<std::string_view, 7> kByRunner = {
    "RUNNEL_ATTEMPT_KEY",  "RUNNEL_CHECKPOINT_DIR", "RUNNEL_JOB_DIR", "RUNNEL_METRICS_FILE",
    "RUNNEL_PREEMPT_FILE", "RUNNEL_RESUME_FROM",    "RUNNEL_TASK_DIR"};
static_assert(std::is_sorted(kByRunner.begin(), kByRunner.end()));

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::string joined(const std::string& name, const std::string& value) {
  std::string text;
  text.reserve(name.size() + value.size() + 1);
  return text.append(name).append("=").append(value);
}

bool is_inherited(std::string_view name) {
  return std::binary_search(kInherited.begin(), kInherited.end(), name);
}

bool is_for_our_program(std::string_view name) {
  return std::binary_search(kOfOurProgram.begin(), kOfOurProgram.end(), name);
}

bool is_by_runner(std::string_view name) {
  return std::binary_search(kByRunner.begin(), kByRunner.end(), name);
}

Error holds_zero(std::string_view name) {
  return Error(Errc::kInvalid, "the variable " + std::string(name) + " holds a zero byte");
}

// The names that are taken, borrowed from the order: what is weaker is left out.
class Names {
 public:
  void take(std::string_view name) { names_.push_back(name); }
  void sort() { std::sort(names_.begin(), names_.end()); }
  bool has(std::string_view name) const {
    return std::binary_search(names_.begin(), names_.end(), name);
  }

 private:
  std::vector<std::string_view> names_;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

Result<void> add(runner::TextBlock& block, const Variables& variables, const Names& stronger) {
  for (const auto& [name, value] : variables) {
    if (is_by_runner(name) || stronger.has(name)) continue;
    if (runner::has_zero(name) || runner::has_zero(value)) return holds_zero(name);
    block.push_back(name, value);
  }
  return {};
}

constexpr std::string_view kPythonPath = "PYTHONPATH";

// The order's, and ours behind them.
std::string python_paths(const model::StartOrder& order, const std::string& ours) {
  const auto own = std::find_if(order.env.begin(), order.env.end(),
                                [](const auto& each) { return each.first == kPythonPath; });
  if (own == order.env.end()) return ours;
  return own->second.empty() ? "" : own->second + ":" + ours;
}

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
    const std::string_view name = name_of(variable);
    if (is_inherited(name) || is_for_our_program(name)) own.push_back(variable);
  }
  own.push_back(joined(std::string(runner::kAttemptKeyName), std::string(runner::kDetachedKey)));
  return own;
}

std::vector<std::string> daemon_environment(const std::vector<std::string>& environment) {
  std::vector<std::string> own = detached_environment(environment);
  const bool in_task = std::ranges::count(environment, "RUNNEL_API", name_of) > 0;
  for (const std::string& variable : environment) {
    if (!in_task && name_of(variable) == "CUDA_VISIBLE_DEVICES") own.push_back(variable);
  }
  return own;
}

Result<RankEnvironments> rank_environments(const model::StartOrder& order,
                                           const std::vector<std::string>& inherited,
                                           const Variables& made_ready,
                                           const std::string& python_path,
                                           const VariablesOfRanks& made_of_rank) {
  CHECK(order.rank_count > 0, "an order starts at least one rank");
  RankEnvironments environments;
  TRY(add(environments.shared, made_ready, Names()));
  Names taken;
  for (const auto& [name, value] : made_ready) taken.take(name);
  for (const auto& [rank, variables] : made_of_rank) {
    for (const auto& [name, value] : variables) taken.take(name);
  }
  taken.sort();
  // Rank variables differ in value only, so those of the first rank name them all.
  std::vector<Variables> by_rank;
  for (std::int32_t i = 0; i < order.rank_count; ++i) {
    by_rank.push_back(model::rank_variables(order, order.first_rank + i));
    runner::TextBlock& block = environments.by_rank.emplace_back();
    TRY(add(block, by_rank.back(), taken));
    const auto made = made_of_rank.find(order.first_rank + i);
    if (made != made_of_rank.end()) TRY(add(block, made->second, Names()));
  }
  for (const auto& [name, value] : by_rank.front()) taken.take(name);
  taken.sort();
  if (!python_path.empty() && !taken.has(kPythonPath)) {
    TRY(add(environments.shared, {{std::string(kPythonPath), python_paths(order, python_path)}},
            taken));
    taken.take(kPythonPath);
    taken.sort();
  }
  TRY(add(environments.shared, order.env, taken));
  for (const auto& [name, value] : order.env) taken.take(name);
  // The source of a secret is hidden.
  for (const model::SecretRef& secret : order.secrets) {
    taken.take(model::shell_variable(secret));
  }
  taken.sort();
  if (runner::has_zero(order.workdir)) return holds_zero("PWD");
  if (!taken.has("PWD")) environments.shared.push_back("PWD", order.workdir);
  taken.take("PWD");
  taken.sort();
  for (const std::string& variable : inherited) {
    const std::string_view name = name_of(variable);
    if (!taken.has(name) && !is_by_runner(name)) environments.shared.push_back(variable);
  }
  return environments;
}

}  // namespace runnel::agent
