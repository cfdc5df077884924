#include "agent/runner_client.h"

#include <signal.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/socket.h"
#include "env/testing/temporary_directory.h"
#include "runner/runner.h"
#include "runner/testing/runner_process.h"

namespace runnel::agent {
namespace {

class RunnerClientTest : public ::testing::Test {
 protected:
  // The program that is started only says that it was.
  RunnerClientOptions options() const {
    RunnerClientOptions options;
    options.home = home_.path();
    options.command = {"/usr/bin/touch", started()};
    options.connect_max = Duration::millis(500);
    options.silence_max = Duration::millis(100);
    return options;
  }
  std::string started() const { return home_.path() + "/started"; }

  env::testing::TemporaryDirectory home_;
};

TEST_F(RunnerClientTest, NamesTheLivingRunnerWhereNobodyListensAndStartsNoOther) {
  const runner::testing::RunnerProcess runner(home_.path());
  {
    const runner::testing::TestAgent agent(home_.path());
  }
  ASSERT_EQ(::kill(runner.pid(), SIGSTOP), 0);
  std::filesystem::remove_all(runner::runner_folder(home_.path()));
  auto loop = MUST(async::EventLoop::create());
  RunnerClient client(*loop, env::real_clock(), options());
  const Result<runner::Welcome> welcome = loop->block_on(client.connect({}));
  ::kill(runner.pid(), SIGCONT);
  EXPECT_EQ(welcome.error().code, Errc::kUnavailable);
  ASSERT_TRUE(client.silence().has_value());
  EXPECT_EQ(client.silence()->pid, runner.pid());
  EXPECT_FALSE(std::filesystem::exists(started()));
}

// Who waited for a stopped one and went stays in its queue, which has an end.
TEST_F(RunnerClientTest, NamesTheOneThatTakesNobodyMoreAndKeepsNobodyFromBeingAnswered) {
  const runner::testing::RunnerProcess runner(home_.path());
  {
    const runner::testing::TestAgent agent(home_.path());
  }
  ASSERT_EQ(::kill(runner.pid(), SIGSTOP), 0);
  Result<async::UniqueFd> socket = async::connect_unix(runner::runner_socket(home_.path()));
  for (int others = 0; others < 10'000 && socket.ok(); ++others) {
    socket = async::connect_unix(runner::runner_socket(home_.path()));
  }
  ASSERT_EQ(socket.error().code, Errc::kFull);
  auto loop = MUST(async::EventLoop::create());
  RunnerClient client(*loop, env::real_clock(), options());
  const Result<runner::Welcome> welcome = loop->block_on(client.connect({}));
  ::kill(runner.pid(), SIGCONT);
  EXPECT_EQ(welcome.error().code, Errc::kTimeout) << "the agent goes on without it";
  ASSERT_TRUE(client.silence().has_value());
  EXPECT_EQ(client.silence()->pid, runner.pid());
  EXPECT_FALSE(std::filesystem::exists(started()));
}

TEST_F(RunnerClientTest, NamesAStoppedOneWhoseSocketIsGone) {
  const runner::testing::RunnerProcess runner(home_.path());
  auto loop = MUST(async::EventLoop::create());
  RunnerClient client(*loop, env::real_clock(), options());
  MUST(loop->block_on(client.connect({})));
  async::Gate gate(*loop);
  const auto drop = [](runner::Message) -> Async<void> { co_return {}; };
  MUST(loop->spawn(gate, client.serve(gate.token(), drop)));
  ASSERT_EQ(::kill(runner.pid(), SIGSTOP), 0);
  std::filesystem::remove(runner::runner_socket(home_.path()));
  for (int looks = 0; looks < 200 && !client.silence(); ++looks) {
    MUST(loop->block_on(loop->sleep(Duration::millis(50))));
  }
  ASSERT_TRUE(client.silence().has_value());
  EXPECT_EQ(client.silence()->pid, runner.pid());
  ::kill(runner.pid(), SIGCONT);
  for (int looks = 0; looks < 200 && client.silence(); ++looks) {
    MUST(loop->block_on(loop->sleep(Duration::millis(50))));
  }
  EXPECT_FALSE(client.silence().has_value()) << "it listens again";
  MUST(loop->block_on(gate.close()));
}

TEST_F(RunnerClientTest, NamesNobodyWhenTheOneItStartedHasEnded) {
  auto loop = MUST(async::EventLoop::create());
  RunnerClient client(*loop, env::real_clock(), options());
  EXPECT_FALSE(loop->block_on(client.connect({})).ok());
  EXPECT_TRUE(std::filesystem::exists(started()));
  ASSERT_TRUE(client.silence().has_value());
  EXPECT_EQ(client.silence()->pid, 0);
}

}  // namespace
}  // namespace runnel::agent
