#include "runner/testing/runner_process.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "async/socket.h"
#include "runner/process_tree.h"
#include "runner/runner.h"

namespace runnel::runner::testing {
namespace {

using SteadyClock = std::chrono::steady_clock;

Connection connect(const std::string& home) {
  for (int i = 0; i < 6'000; ++i) {
    Result<async::UniqueFd> socket = async::connect_unix(runner_socket(home));
    if (socket.ok()) return Connection(std::move(*socket));
    ::usleep(5'000);
  }
  ADD_FAILURE() << "no runner came up in " << home;
  return Connection(async::UniqueFd());
}

}  // namespace

void become_runner(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], kRunnerArgument) != 0) return;
  ::_exit(runner_main({.home = argv[2],
                       .idle_max = Duration::millis(500),
                       .idle_with_records_max = Duration::seconds(1),
                       .recovery_grace = Duration::millis(500)}));
}

RunnerProcess::RunnerProcess(const std::string& home) {
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::execl("/proc/self/exe", "runner", kRunnerArgument, home.c_str(), nullptr);
  ::_exit(127);
}

RunnerProcess::~RunnerProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  if (wait_exit(Duration::seconds(10)) < 0) kill_hard();
}

void RunnerProcess::kill_hard() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int RunnerProcess::wait_exit(Duration limit) {
  const auto until = SteadyClock::now() + std::chrono::milliseconds(limit.millis());
  while (SteadyClock::now() < until) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    ::usleep(5'000);
  }
  return -1;
}

TestAgent::TestAgent(const std::string& home, Epoch epoch) : connection_(connect(home)) {
  send(Hello{kRunnerProtocolVersion, epoch});
  while (!inventory_done_ && !closed_ && refusal_.empty()) hear(Duration::seconds(20));
}

void TestAgent::send(const Message& message) {
  connection_.send(message);
  while (connection_.wants_to_write() && !closed_) {
    if (!connection_.flush().ok()) closed_ = true;
    hear(Duration());
  }
}

void TestAgent::start(PlaceStart place) {
  StartBatch batch;
  batch.places.push_back(std::move(place));
  send(batch);
}

void TestAgent::stop(const PlaceStart& place, Duration grace, model::StopReason reason) {
  send(StopBatch{{{{place.node, place.attempt}, grace, reason}}});
}

void TestAgent::forget(const PlaceStart& place) {
  send(ForgetBatch{{{place.node, place.attempt}}});
}

bool TestAgent::hear(Duration limit) {
  pollfd wait{connection_.descriptor(), POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(limit.millis())) <= 0) return false;
  std::vector<Message> messages;
  if (!connection_.receive(messages).ok()) closed_ = true;
  for (Message& message : messages) take(message);
  return true;
}

void TestAgent::take(Message& message) {
  if (auto* welcome = std::get_if<Welcome>(&message)) welcome_ = *welcome;
  if (auto* refused = std::get_if<Refused>(&message)) refusal_ = refused->reason;
  auto* facts = std::get_if<Facts>(&message);
  if (facts == nullptr) return;
  for (RankFact& fact : facts->ranks) {
    latest_[{{fact.node, fact.report.attempt}, fact.report.rank}] = fact;
    if (facts->kind != FactsKind::kNews) {
      inventory_.push_back(fact);
      continue;
    }
    if (fact.state == RankFact::State::kEnded) ++ended_count_;
    facts_.push_back(std::move(fact));
  }
  if (facts->kind == FactsKind::kInventoryEnd) inventory_done_ = true;
}

model::RankReport TestAgent::wait_end(const PlaceStart& place, std::int32_t rank, Duration limit) {
  const Key key{{place.node, place.attempt}, rank};
  const auto until = SteadyClock::now() + std::chrono::milliseconds(limit.millis());
  while (SteadyClock::now() < until && !closed_) {
    const auto found = latest_.find(key);
    if (found != latest_.end() && found->second.report.ended) return found->second.report;
    hear(Duration::millis(20));
  }
  ADD_FAILURE() << to_string(place.attempt) << " rank " << rank << " did not end";
  return {};
}

model::RankReport TestAgent::wait_running(const PlaceStart& place, std::int32_t rank) {
  const Key key{{place.node, place.attempt}, rank};
  const auto until = SteadyClock::now() + std::chrono::seconds(60);
  while (SteadyClock::now() < until && !closed_) {
    const auto found = latest_.find(key);
    if (found != latest_.end() && found->second.state == RankFact::State::kRunning) {
      return found->second.report;
    }
    hear(Duration::millis(20));
  }
  ADD_FAILURE() << to_string(place.attempt) << " rank " << rank << " does not run";
  return {};
}

bool TestAgent::wait_closed(Duration limit) {
  const auto until = SteadyClock::now() + std::chrono::milliseconds(limit.millis());
  while (SteadyClock::now() < until && !closed_) hear(Duration::millis(20));
  return closed_;
}

PlaceStart place_of(std::vector<std::string> argv, std::int64_t task, std::int64_t lane) {
  PlaceStart start;
  start.node = NodeId("local");
  start.attempt = {{JobId("job"), StepIndex(0), TaskIndex(task)}, AttemptNumber(1)};
  start.lane = LaneId(lane);
  start.argv = std::move(argv);
  start.env = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  start.rank_env.resize(1);
  start.workdir = "/";
  start.checkpoint_dir = "checkpoint";
  start.grace = Duration::seconds(20);
  start.max_log = Bytes::gibi(1);
  return start;
}

PlaceStart shell(const std::string& script, std::int64_t task, std::int64_t lane) {
  return place_of({"/bin/sh", "-ec", script}, task, lane);
}

bool process_lives(pid_t pid) {
  ProcessStat stat;
  return read_stat(pid, stat) && stat.state != 'Z';
}

std::string wait_text(const std::string& path, std::size_t bytes) {
  for (int i = 0; i < 6'000; ++i) {
    std::string text = read_text(path);
    if (text.size() >= bytes) return text;
    ::usleep(5'000);
  }
  ADD_FAILURE() << path << " stays empty";
  return {};
}

}  // namespace runnel::runner::testing
