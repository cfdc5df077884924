#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "output/testing/attempts.h"
#include "runner/connection.h"
#include "runner/message.h"

namespace runnel::runner::testing {

using output::testing::attempt_of;
using output::testing::read_text;

// argv[1] by which the test binary, started again, becomes a runner: see become_runner().
inline constexpr const char* kRunnerArgument = "--become-a-runner";

// To be called before main() does anything: runs a runner and exits when the arguments ask for one.
void become_runner(int argc, char** argv);

// A real runner: this binary once more. Killed and waited for on destruction.
class RunnerProcess {
 public:
  explicit RunnerProcess(const std::string& home);
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  pid_t pid() const { return pid_; }
  void kill_hard();
  // Its exit code, or -1 after the time.
  int wait_exit(Duration limit);

 private:
  pid_t pid_ = -1;
};

// A blocking agent for tests.
class TestAgent {
 public:
  // Connects, says hello, and has the inventory.
  explicit TestAgent(const std::string& home, Epoch epoch = Epoch(1));

  const Welcome& welcome() const { return welcome_; }
  const std::string& refusal() const { return refusal_; }
  const std::vector<RankFact>& inventory() const { return inventory_; }

  void send(const Message& message);
  void start(PlaceStart place);
  void stop(const PlaceStart& place, Duration grace,
            model::StopReason reason = model::StopReason::kCancelled);
  void forget(const PlaceStart& place);

  // The end of that rank; fails the test after the limit.
  model::RankReport wait_end(const PlaceStart& place, std::int32_t rank = 0,
                             Duration limit = Duration::seconds(60));
  model::RankReport wait_running(const PlaceStart& place, std::int32_t rank = 0);
  // True when the runner has closed the connection within the limit.
  bool wait_closed(Duration limit);
  // Reads what has come within the time.
  bool hear(Duration limit);
  std::size_t ended() const { return ended_count_; }
  std::vector<RankFact> take_facts() { return std::exchange(facts_, {}); }

 private:
  using Key = std::pair<AttemptOnNode, std::int32_t>;
  void take(Message& message);

  Connection connection_;
  Welcome welcome_;
  std::string refusal_;
  std::vector<RankFact> inventory_;
  bool inventory_done_ = false;
  bool closed_ = false;
  std::map<Key, RankFact> latest_;
  std::vector<RankFact> facts_;
  std::size_t ended_count_ = 0;
};

// An attempt of job "job", step 0, task `task`, in lane `lane`, with a PATH.
PlaceStart place_of(std::vector<std::string> argv, std::int64_t task = 0, std::int64_t lane = 0);
PlaceStart shell(const std::string& script, std::int64_t task = 0, std::int64_t lane = 0);

bool process_lives(pid_t pid);
// Waits for a file with at least `bytes`; its text.
std::string wait_text(const std::string& path, std::size_t bytes = 1);

}  // namespace runnel::runner::testing
