#include "env/process_list.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "env/process.h"

namespace runnel::env {
namespace {

std::int64_t sleeper(const std::string& mark) {
  DetachedProcess process;
  process.argv = {"/bin/sleep", "30"};
  process.environment = {"RUNNEL_TEST_MARK=" + mark, "RUNNEL_TEST_OTHER=1"};
  process.log_file = "/dev/null";
  return MUST(spawn_detached(process));
}

TEST(ProcessList, FindsThoseThatBeganWithAllOfTheVariables) {
  const std::string mark = "p" + std::to_string(::getpid());
  const std::int64_t one = sleeper(mark);
  const std::int64_t two = sleeper(mark + "2");
  EXPECT_EQ(processes_with({"RUNNEL_TEST_MARK=" + mark}), std::vector<std::int64_t>{one})
      << "whole values, not beginnings";
  EXPECT_EQ(processes_with({"RUNNEL_TEST_MARK=" + mark + "2", "RUNNEL_TEST_OTHER=1"}),
            std::vector<std::int64_t>{two});
  EXPECT_TRUE(processes_with({"RUNNEL_TEST_MARK=" + mark, "RUNNEL_TEST_OTHER=2"}).empty());
  EXPECT_TRUE(processes_with({"TEST_MARK=" + mark}).empty());
  for (const std::int64_t pid : {one, two}) ::kill(static_cast<pid_t>(pid), SIGKILL);
}

TEST(ProcessList, AnEmptyValueIsAValue) {
  DetachedProcess process;
  const std::string name = "RUNNEL_TEST_EMPTY_" + std::to_string(::getpid());
  process.argv = {"/bin/sleep", "30"};
  process.environment = {name + "=", "RUNNEL_TEST_LAST=" + name + "="};
  process.log_file = "/dev/null";
  const std::int64_t pid = MUST(spawn_detached(process));
  EXPECT_EQ(processes_with({name + "="}), std::vector<std::int64_t>{pid});
  EXPECT_TRUE(processes_with({name + "=1"}).empty());
  EXPECT_TRUE(processes_with({name}).empty()) << "a name is not a variable";
  ::kill(static_cast<pid_t>(pid), SIGKILL);
}

TEST(ProcessList, TellsWhoWasFirst) {
  const std::string mark = "f" + std::to_string(::getpid());
  DetachedProcess shell;
  shell.argv = {"/bin/sh", "-c", "sleep 30 & sleep 30 & wait"};
  shell.environment = {"RUNNEL_TEST_MARK=" + mark, "PATH=/usr/bin:/bin"};
  shell.log_file = "/dev/null";
  const std::int64_t first = MUST(spawn_detached(shell));
  std::vector<std::int64_t> all;
  while (all.size() < 3) all = processes_with({"RUNNEL_TEST_MARK=" + mark});
  EXPECT_EQ(first_of(all), std::vector<std::int64_t>{first});
  EXPECT_TRUE(first_of({}).empty());
  for (const std::int64_t pid : all) ::kill(static_cast<pid_t>(pid), SIGKILL);
}

TEST(ProcessList, LeavesOutThoseThatHaveEnded) {
  const std::string mark = "e" + std::to_string(::getpid());
  const std::int64_t one = sleeper(mark);
  ASSERT_EQ(processes_with({"RUNNEL_TEST_MARK=" + mark}).size(), 1u);
  ::kill(static_cast<pid_t>(one), SIGKILL);
  while (process_runs(one)) ::usleep(1'000);
  EXPECT_TRUE(processes_with({"RUNNEL_TEST_MARK=" + mark}).empty());
}

TEST(ProcessList, TheProcessItselfIsOneOfThem) {
  const std::vector<std::int64_t> all = processes_with({});
  EXPECT_NE(std::find(all.begin(), all.end(), ::getpid()), all.end());
  EXPECT_TRUE(processes_with({"RUNNEL_TEST_MARK=nobody has this"}).empty());
}

}  // namespace
}  // namespace runnel::env
