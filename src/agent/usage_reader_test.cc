#include "agent/usage_reader.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace runnel::agent {
namespace {

// A shell with the environment of a task.
class TaskProcess {
 public:
  TaskProcess(const std::string& script, const std::string& task) {
    std::string job = "RUNNEL_JOB_ID=usage-" + std::to_string(::getpid());
    std::string step = "RUNNEL_STEP=train";
    std::string index = "RUNNEL_TASK_INDEX=" + task;
    std::string attempt = "RUNNEL_ATTEMPT=2";
    std::string shell = "/bin/sh";
    std::string flag = "-c";
    std::string text = script;
    char* const words[] = {shell.data(), flag.data(), text.data(), nullptr};
    char* const environment[] = {job.data(), step.data(), index.data(), attempt.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, shell.c_str(), nullptr, nullptr, words, environment), 0);
  }
  ~TaskProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  TaskProcess(const TaskProcess&) = delete;
  TaskProcess& operator=(const TaskProcess&) = delete;

 private:
  pid_t pid_ = 0;
};

JobId job() { return JobId("usage-" + std::to_string(::getpid())); }

UsageSample::Process process(std::int64_t task, Duration cpu, Bytes memory) {
  return {{.step = "s", .task = TaskIndex(task), .attempt = AttemptNumber(1)}, cpu, memory};
}

TEST(UsageReader, AddsUpTheProcessesOfAnAttempt) {
  UsageSample before;
  UsageSample after;
  before.processes[1] = process(0, Duration::millis(100), Bytes::mebi(1));
  after.processes[1] = process(0, Duration::millis(600), Bytes::mebi(2));
  after.processes[2] = process(0, Duration::millis(250), Bytes::mebi(3));
  after.processes[3] = process(1, Duration(), Bytes::mebi(4));
  const auto uses = usage_between(before, after, Duration::millis(500), std::nullopt);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].milli_cpus, 1'500) << "half a second of the old one, a quarter of the new one";
  EXPECT_EQ(uses[0].processes, 2);
  EXPECT_EQ(uses[0].memory, Bytes::mebi(5));
  EXPECT_EQ(uses[1].milli_cpus, 0);
  EXPECT_EQ(uses[1].milli_gpus, std::nullopt);
}

TEST(UsageReader, AddsUpTheGpusOfAnAttempt) {
  UsageSample now;
  now.processes[1] = process(0, Duration(), Bytes());
  now.processes[2] = process(0, Duration(), Bytes());
  now.processes[3] = process(1, Duration(), Bytes());
  const GpuSample gpus{{1, {90, Bytes::mebi(7)}}, {2, {80, Bytes::mebi(1)}}, {9, {30, Bytes()}}};
  const auto uses = usage_between({}, now, Duration::millis(500), gpus);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].milli_gpus, 1'700);
  EXPECT_EQ(uses[0].gpu_memory, Bytes::mebi(8));
  EXPECT_EQ(uses[1].milli_gpus, 0) << "there are GPUs, and it uses none";
}

TEST(UsageReader, ANumberThatIsUsedAgainIsAnotherProcess) {
  UsageSample before;
  UsageSample after;
  before.processes[1] = process(0, Duration::seconds(100), Bytes());
  after.processes[1] = process(1, Duration::millis(50), Bytes());
  const auto uses = usage_between(before, after, Duration::millis(100), std::nullopt);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].milli_cpus, 500);
}

TEST(UsageReader, FindsTasksAndSeesWhoIsBusy) {
  const TaskProcess busy("while :; do :; done", "3");
  // A child of the shell would outlive it, and keep our output open.
  const TaskProcess idle("exec sleep 60", "4");
  const UsageSample before = sample_usage(job());
  const auto begun = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const UsageSample after = sample_usage(job());
  const auto window = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  const auto uses = usage_between(before, after, Duration::millis(window.count()), std::nullopt);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].step, "train");
  EXPECT_EQ(uses[0].task, TaskIndex(3));
  EXPECT_EQ(uses[0].attempt, AttemptNumber(2));
  EXPECT_GT(uses[0].milli_cpus, uses[1].milli_cpus);
  EXPECT_GT(uses[0].memory, Bytes());
  EXPECT_TRUE(sample_usage(JobId("nobody")).processes.empty());
}

}  // namespace
}  // namespace runnel::agent
