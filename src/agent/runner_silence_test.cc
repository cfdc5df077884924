#include "agent/runner_silence.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "env/testing/temporary_directory.h"
#include "runner/runner.h"
#include "runner/testing/runner_process.h"

namespace runnel::agent {
namespace {

TEST(RunnerSilences, NameTheProcessAndSinceWhen) {
  EXPECT_EQ(sentence({12, Time::from_millis(0)}),
            "the runner (process 12) has not answered since 1970-01-01T00:00:00.000Z");
  EXPECT_EQ(sentence({12, Time::from_millis(0), "flock"}),
            "the process 12 (flock) holds a lock on the home's folder, so that no runner has "
            "started since 1970-01-01T00:00:00.000Z");
  EXPECT_EQ(sentence({0, Time::from_millis(0)}),
            "the runner has not answered since 1970-01-01T00:00:00.000Z");
}

TEST(RunnerSilences, TheRemedyIsForWhatTheProcessDoes) {
  const env::testing::TemporaryDirectory home;
  const runner::testing::RunnerProcess runner(home.path());
  // It may wait, while it starts, for the disk that its own program is read from.
  const runner::testing::TestAgent agent(home.path());
  const std::string pid = std::to_string(runner.pid());
  EXPECT_NE(remedy({runner.pid(), Time()}, home.path(), {}).find("kill -9 " + pid),
            std::string::npos);
  const std::string below = home.path() + "/jobs/1";
  EXPECT_EQ(remedy({runner.pid(), Time()}, home.path(), {"/", home.path(), below}),
            "it may wait for " + below +
                ": see whether its disk answers; a mount that is dead for "
                "good: umount --lazy " +
                below +
                "; to give up what it runs, which is then tried again: "
                "kill -9 " +
                pid);
  ASSERT_EQ(::kill(runner.pid(), SIGSTOP), 0);
  std::string stopped;
  for (int looks = 0; looks < 10'000 && !stopped.starts_with("it was stopped"); ++looks) {
    stopped = remedy({runner.pid(), Time()}, home.path(), {});
    ::usleep(1'000);
  }
  EXPECT_EQ(stopped, "it was stopped: kill -CONT " + pid);
  ::kill(runner.pid(), SIGCONT);
  EXPECT_EQ(remedy({0, Time()}, "/home", {}), "see /home/runner/log");
}

TEST(RunnerSilences, AFolderInThePlaceOfTheSocketIsMovedAway) {
  const std::string path = runner::runner_socket("/home");
  EXPECT_EQ(remedy({::getpid(), Time(), "", true}, "/home", {}),
            "a folder is where its socket belongs: mv " + path + " " + path + ".away");
}

}  // namespace
}  // namespace runnel::agent
