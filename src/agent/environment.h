#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/order.h"
#include "runner/text_block.h"

namespace runnel::agent {

// The few variables of the daemon's own environment that tasks get where nobody says otherwise:
// HOME, LANG, LOGNAME, PATH, SHELL, TMPDIR, TZ and USER. All others belong to whoever started it.
std::vector<std::string> inheritable(const std::vector<std::string>& environment);

// For a runner: of the shell that happens to start it only what is listed in
// docs/design/environment.md, since every later task can read it, and shells hold secrets. A
// command inside a task may have to start one: it does not belong to that task, and does not end
// with it.
std::vector<std::string> detached_environment(const std::vector<std::string>& environment);

// The same for a daemon alone, which declares no devices where a shell shows some of them only:
// with CUDA_VISIBLE_DEVICES, but not with a task's, which hides what others were granted.
std::vector<std::string> daemon_environment(const std::vector<std::string>& environment);

// The variables that all ranks of an order share, and those that each adds. No name stands twice.
struct RankEnvironments {
  runner::TextBlock shared;
  std::vector<runner::TextBlock> by_rank;  // rank_count entries.
};

// By the number of a rank.
using VariablesOfRanks = std::map<std::int32_t, std::vector<std::pair<std::string, std::string>>>;

// The environments of an order's ranks, but for the paths, which the runner knows. From the weakest
// to the strongest: inherited, PWD (the workdir), the order's (already merged with the user's
// envs), ours by rank (left out where the order says otherwise), what was made ready: secrets and
// the folders of volumes, those of one rank behind those of all. A variable that is the source of
// one of the order's secrets is not inherited, nor are RUNNEL_ paths taken from anybody.
// kInvalid when a variable holds a zero byte. `python_path` is put behind the PYTHONPATH that the
// order has, unless that is empty: then they want none.
Result<RankEnvironments> rank_environments(
    const model::StartOrder& order, const std::vector<std::string>& inherited,
    const std::vector<std::pair<std::string, std::string>>& made_ready,
    const std::string& python_path = "", const VariablesOfRanks& made_of_rank = {});

}  // namespace runnel::agent
