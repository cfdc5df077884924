#include "agent/usage_reader.h"

#include <charconv>
#include <string>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "runner/process_tree.h"

namespace runnel::agent {
namespace {

template <typename Number>
bool read_number(const std::string& text, Number& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

// False when the process is none of the job's.
bool read_owner(pid_t pid, const JobId& job, model::TaskUsage& owner) {
  const std::vector<std::string> values = runner::environment_values(
      pid, {"RUNNEL_JOB_ID", "RUNNEL_STEP", "RUNNEL_TASK_INDEX", "RUNNEL_ATTEMPT"});
  std::int64_t task = 0;
  std::int32_t attempt = 0;
  if (values[0] != job.str()) return false;
  if (!read_number(values[2], task) || !read_number(values[3], attempt)) return false;
  owner.step = values[1];
  owner.task = TaskIndex(task);
  owner.attempt = AttemptNumber(attempt);
  return true;
}

Duration used_meanwhile(const UsageSample& before, pid_t pid, const UsageSample::Process& now) {
  const auto earlier = before.processes.find(pid);
  const bool same = earlier != before.processes.end() && earlier->second.of == now.of;
  return same ? now.cpu - earlier->second.cpu : now.cpu;
}

void add_gpus(const GpuSample& gpus, pid_t pid, model::TaskUsage& use) {
  const auto found = gpus.find(pid);
  const GpuUse used = found == gpus.end() ? GpuUse() : found->second;
  use.milli_gpus = use.milli_gpus.value_or(0) + used.percent * 10;
  use.gpu_memory = use.gpu_memory.value_or(Bytes()) + used.memory;
}

}  // namespace

UsageSample sample_usage(const JobId& job) {
  UsageSample sample;
  for (const pid_t pid : runner::all_processes()) {
    UsageSample::Process process;
    runner::ProcessStat stat;
    if (!read_owner(pid, job, process.of) || !runner::read_stat(pid, stat)) continue;
    process.cpu = stat.cpu;
    process.memory = runner::resident_memory(pid);
    sample.processes.emplace(pid, std::move(process));
  }
  return sample;
}

std::vector<model::TaskUsage> usage_between(const UsageSample& before, const UsageSample& after,
                                            Duration window, const std::optional<GpuSample>& gpus) {
  CHECK(window > Duration(), "nothing is used in no time");
  std::map<std::tuple<std::string, TaskIndex, AttemptNumber>, model::TaskUsage> uses;
  for (const auto& [pid, process] : after.processes) {
    model::TaskUsage& use =
        uses.try_emplace({process.of.step, process.of.task, process.of.attempt}, process.of)
            .first->second;
    ++use.processes;
    use.memory = use.memory + process.memory;
    use.milli_cpus += used_meanwhile(before, pid, process).millis() * 1'000 / window.millis();
    if (gpus) add_gpus(*gpus, pid, use);
  }
  std::vector<model::TaskUsage> found;
  found.reserve(uses.size());
  for (auto& [key, use] : uses) found.push_back(std::move(use));
  return found;
}

}  // namespace runnel::agent
