// How fast the runner starts and ends processes, against a bare vfork + exec + wait loop with as
// many in flight. Pairs are interleaved, since a machine's speed drifts.
//
//   runner_bench [tasks per run] [pairs] [in flight]
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "async/socket.h"
#include "base/check.h"
#include "runner/connection.h"
#include "runner/message.h"
#include "runner/runner.h"

namespace {

using namespace runnel;
using namespace runnel::runner;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

pid_t start_bare() {
  static char* const kArgv[] = {const_cast<char*>("/bin/true"), nullptr};
  const pid_t pid = ::vfork();  // NOLINT(*insecureAPI.vfork,bugprone-unsafe-functions)
  if (pid == 0) {
    ::execve(kArgv[0], kArgv, environ);
    ::_exit(127);
  }
  return pid;
}

double bare_rate(int tasks, int in_flight) {
  const double begin = now();
  int started = 0;
  while (started < in_flight) {
    start_bare();
    ++started;
  }
  for (int ended = 0; ended < tasks; ++ended) {
    ::wait(nullptr);
    if (started++ < tasks) start_bare();
  }
  return tasks / (now() - begin);
}

pid_t start_runner(const std::string& home) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(runner_main({.home = home}));
  return pid;
}

Connection connect(const std::string& home) {
  while (true) {
    Result<async::UniqueFd> socket = async::connect_unix(runner_socket(home));
    if (socket.ok()) return Connection(std::move(*socket));
    ::usleep(1'000);
  }
}

PlaceStart task_of(int number, int lane) {
  PlaceStart start;
  start.node = NodeId("local");
  start.attempt = {{JobId("bench"), StepIndex(0), TaskIndex(number)}, AttemptNumber(1)};
  start.lane = LaneId(lane);
  start.argv = {"/bin/true"};
  for (int i = 0; i < 50; ++i) {
    start.env.push_back("VARIABLE_OF_A_TASK_" + std::to_string(i) + "=of a usual length");
  }
  start.env.push_back("PATH=/usr/local/bin:/usr/bin:/bin");
  start.rank_env.resize(1);
  start.workdir = "/";
  start.checkpoint_dir = "checkpoint";
  start.max_log = Bytes::gibi(1);
  start.grace = Duration::seconds(30);
  return start;
}

std::vector<Message> receive(Connection& runner) {
  std::vector<Message> messages;
  const short events = runner.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
  pollfd wait{runner.descriptor(), events, 0};
  ::poll(&wait, 1, -1);
  MUST(runner.flush());
  if ((wait.revents & POLLIN) != 0) MUST(runner.receive(messages));
  return messages;
}

// Keeps both lanes filled ahead, collects the ends and has them forgotten, as an agent does.
double runner_rate(Connection& runner, int first, int tasks, int in_flight) {
  constexpr int kAhead = 256;
  const double begin = now();
  int sent = 0;
  int ended = 0;
  while (ended < tasks) {
    StartBatch starts;
    for (; sent < tasks && sent - ended < kAhead; ++sent) {
      starts.places.push_back(task_of(first + sent, sent % in_flight));
    }
    if (!starts.places.empty()) runner.send(starts);
    MUST(runner.flush());
    ForgetBatch forgets;
    for (const Message& message : receive(runner)) {
      const Facts* facts = std::get_if<Facts>(&message);
      if (facts == nullptr) continue;
      for (const RankFact& fact : facts->ranks) {
        if (fact.state != RankFact::State::kEnded) continue;
        CHECK(fact.report.code == 0, fact.report.message);
        forgets.attempts.push_back({fact.node, fact.report.attempt});
        ++ended;
      }
    }
    runner.send(forgets);
  }
  MUST(runner.flush());
  return tasks / (now() - begin);
}

// Processor time of one process, its children left out: says more than the clock on a busy machine.
double own_cpu_seconds(clockid_t clock) {
  timespec used{};
  ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int tasks = argc > 1 ? std::stoi(argv[1]) : 10'000;
  const int pairs = argc > 2 ? std::stoi(argv[2]) : 7;
  const int in_flight = argc > 3 ? std::stoi(argv[3]) : 2;
  char folder[] = "/tmp/runner_bench.XXXXXX";
  const std::string home = ::mkdtemp(folder);
  const pid_t pid = start_runner(home);
  Connection runner = connect(home);
  runner.send(Hello{});
  MUST(runner.flush());
  receive(runner);
  clockid_t runner_clock{};
  CHECK(::clock_getcpuclockid(pid, &runner_clock) == 0, "the runner's clock cannot be read");
  std::vector<double> ratios;
  std::vector<double> rates;
  for (int pair = 0; pair < pairs; ++pair) {
    const double bare_begin = own_cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double bare = bare_rate(tasks, in_flight);
    const double bare_cpu = own_cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - bare_begin;
    const double ours_begin = own_cpu_seconds(runner_clock);
    const double ours = runner_rate(runner, pair * tasks, tasks, in_flight);
    const double ours_cpu = own_cpu_seconds(runner_clock) - ours_begin;
    ratios.push_back(ours / bare);
    rates.push_back(ours);
    std::printf(
        "bare %.0f/s  runner %.0f/s  ratio %.3f; processor time per task %.0f us, %.0f us\n", bare,
        ours, ours / bare, bare_cpu / tasks * 1e6, ours_cpu / tasks * 1e6);
    std::fflush(stdout);
  }
  std::printf("median: runner %.0f/s, ratio %.3f\n", median(rates), median(ratios));
  ::kill(pid, SIGTERM);
  rusage usage{};
  ::wait4(pid, nullptr, 0, &usage);
  std::printf("runner: peak memory %ld KiB\n", usage.ru_maxrss);
  std::filesystem::remove_all(home);
  return 0;
}
