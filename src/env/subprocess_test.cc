#include "env/subprocess.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/process.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

using namespace std::chrono_literals;

Subprocess script_of(const std::string& text) { return {.argv = {"sh", "-c", text}}; }

TEST(Subprocess, SaysWhatItWrote) {
  EXPECT_EQ(output_of(script_of("echo one; echo two >&2; cat; echo three")).value_or("failed"),
            "one\nthree\n");
}

TEST(Subprocess, HasTheEnvironmentThatItIsGiven) {
  Subprocess process = script_of("echo $NAME:$HOME");
  process.environment = {"NAME=value", "PATH=/usr/bin:/bin"};
  EXPECT_EQ(output_of(process).value_or("failed"), "value:\n");
}

TEST(Subprocess, WhatItWroteIsToldThoughItFailed) {
  const auto failed = finish(script_of("echo why; exit 3"));
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->text, "why\n");
  EXPECT_EQ(failed->code, 3);
  EXPECT_EQ(MUST(finish(script_of("kill -TERM $$"))).code, -SIGTERM);
}

TEST(Subprocess, NoShellReadsItsWords) {
  EXPECT_EQ(output_of({.argv = {"printf", "%s|", "a b", "$HOME", "*", "", "'"}}).value_or("failed"),
            "a b|$HOME|*||'|");
}

TEST(Subprocess, ReadsMoreThanAPipeHolds) {
  const auto answer = output_of(script_of("for i in $(seq 40000); do echo $i; done"));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->size(), 228'894u);
  EXPECT_TRUE(answer->starts_with("1\n2\n"));
  EXPECT_TRUE(answer->ends_with("\n40000\n"));
}

TEST(Subprocess, BeginsWithOurEnvironmentAndSignalsAtTheirDefaults) {
  EXPECT_EQ(output_of(script_of("echo $PATH")).value_or("failed"), *variable("PATH") + "\n");
  sigset_t held;
  sigset_t before;
  ::sigemptyset(&held);
  ::sigaddset(&held, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &held, &before);
  const auto answer = output_of(script_of("kill -TERM $$; echo it was held back"));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message, "sh failed by signal 15");
}

TEST(Subprocess, LeavesNoOpenFileAndNoChildBehind) {
  const auto open_files = [] { return MUST(list_directory("/proc/self/fd")).size(); };
  const std::size_t before = open_files();
  Subprocess hangs = script_of("sleep 60");
  hangs.runs_at_most = Duration::millis(50);
  EXPECT_FALSE(output_of(hangs).ok());
  EXPECT_TRUE(output_of(script_of("true")).ok());
  EXPECT_FALSE(output_of({.argv = {"there-is-no-such-program"}}).ok());
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Subprocess, WhatIsNoProgramIsNotFound) {
  const auto answer = output_of({.argv = {"there-is-no-such-program"}});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Errc::kNotFound);
}

TEST(Subprocess, AFailureIsNoAnswer) {
  const auto failed = output_of(script_of("echo half; exit 3"));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "sh failed with exit code 3");
  const auto killed = output_of(script_of("kill -9 $$"));
  ASSERT_FALSE(killed.ok());
  EXPECT_EQ(killed.error().message, "sh failed by signal 9");
}

TEST(Subprocess, WhoHangsIsKilledWithWhatItStarted) {
  const testing::TemporaryDirectory folder;
  Subprocess hangs = script_of("sleep 60 & echo $! > " + folder.file("pid") + "; wait");
  hangs.runs_at_most = Duration::seconds(3);  // It must write its pid before, on a busy machine.
  const auto answer = output_of(hangs);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Errc::kTimeout);
  const std::string started = MUST(read_file(folder.file("pid")));
  const std::int64_t pid = std::strtoll(started.c_str(), nullptr, 10);
  ASSERT_GT(pid, 1);
  for (int look = 0; look < 500 && process_runs(pid); ++look) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(process_runs(pid));
}

TEST(Subprocess, EndlessOutputIsNoAnswer) {
  Subprocess endless = script_of("while :; do echo again; done");
  endless.bytes_max = 100;
  const auto answer = output_of(endless);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Errc::kFull);
}

TEST(Subprocess, WhoClosesItsOutputAndGoesOnIsKilled) {
  Subprocess quiet = script_of("exec >&-; sleep 60");
  quiet.runs_at_most = Duration::millis(200);
  const auto answer = output_of(quiet);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Errc::kTimeout);
}

}  // namespace
}  // namespace runnel::env
