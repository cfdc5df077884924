#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/patient_reads.h"
#include "agent/runner_silence.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/stream.h"
#include "async/unique_fd.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "runner/message.h"

namespace runnel::agent {

struct RunnerClientOptions {
  std::string home;
  Epoch epoch;
  std::vector<std::string> command;      // Starts a runner: argv, argv[0] is the path of the file.
  std::vector<std::string> environment;  // The runner's own, "NAME=value".
  Duration connect_max = Duration::seconds(30);
  Duration welcome_max = Duration::seconds(30);  // Then it is greeted anew.
  Duration silence_max = Duration::seconds(3);
};

// The agent's end of the runner's socket: finds the runner, or starts one, and passes messages.
//
// Contract: connect() returns with the runner's Welcome (where the one it reached is just ending,
//           of the next), and then serve() hands each message to `on_message` until the connection
//           ends, which is its error. send() collects; what it took leaves in one write at the next
//           turn of the loop. After an end, connect() may be called again. silence() tells of a
//           runner that has not answered for silence_max: its greeting, its Welcome, or one of the
//           questions that it is asked every kAskEvery.
// Threads:  the loop's only; a runner is started, and its socket looked for, on threads of their
//           own: the first lasts until the machine has a processor for it, and the home may be gone
//           behind a dead mount.
// Lifetime: connect() and serve() run in a gate that is closed before destruction.
class RunnerClient {
 public:
  // A wait in it holds back the messages that follow; its error ends the connection.
  using OnMessage = std::function<Async<void>(runner::Message)>;

  RunnerClient(async::EventLoop& loop, env::Clock& clock, RunnerClientOptions options);

  Async<runner::Welcome> connect(async::StopToken stop);
  Async<void> serve(async::StopToken stop, OnMessage on_message);
  void send(const runner::Message& message);
  // Ends the connection, and serve() with it: the next connect() is told anew what the runner has.
  void hang_up();
  bool connected() const { return connected_; }
  std::optional<RunnerSilence> silence() const;

 private:
  static constexpr Duration kAskEvery = Duration::seconds(1);
  // Between two attempts to reach the socket, doubling; and before a runner is started once more.
  static constexpr Duration kRetryMin = Duration::millis(1);
  static constexpr Duration kRetryMax = Duration::millis(32);
  static constexpr Duration kRestartAfter = Duration::seconds(3);
  // A runner that lives and does not listen is named, which is dear: one that ends is gone by then.
  static constexpr Duration kNameAfter = Duration::millis(250);
  static constexpr int kMeetingsMax = 10;

  // How far the search for the runner has come.
  struct Search {
    Duration waited;
    Duration next_start;
    Duration next_name = kNameAfter;
    std::int64_t started = 0;  // The runner that we started: its pid.
  };
  // What was found of the runner, by its files in the home.
  struct Sight {
    Result<async::UniqueFd> socket;
    bool lives = false;       // Though it does not listen, or takes nobody more.
    bool is_folder = false;   // Is in the place of its socket.
    std::int64_t living = 0;  // Its process, where that was asked for.
  };
  enum class Name : std::uint8_t { kNo, kYes };
  static Sight look(const std::string& home, Name name);
  Async<Sight> look_now(Name name);

  Async<async::UniqueFd> reach(async::StopToken stop);
  Async<void> start_or_name(Search& search, const Sight& sight);
  Async<void> start_runner();
  void take_pid(std::int64_t pid);
  Async<runner::Welcome> greet(async::StopToken stop);
  Async<runner::Welcome> read_welcome();
  Async<void> keep_asking(async::StopToken stop);
  Async<void> ask(async::UniqueFd socket, async::StopToken stop);
  void begin_question();
  Async<void> fill();
  Result<std::optional<runner::Message>> take_message();
  Async<void> read_all(async::StopToken stop, OnMessage on_message);
  Async<void> write_all(async::StopToken stop);

  async::EventLoop& loop_;
  env::Clock& clock_;
  const RunnerClientOptions options_;
  PatientReads starts_;
  PatientReads looks_;
  // The question that it has not answered yet.
  struct Question {
    Duration boot;
    Time asked_at;
  };
  std::optional<Question> question_;
  std::int64_t pid_ = 0;    // The process that was asked.
  std::string stranger_;    // See RunnerSilence,
  bool is_folder_ = false;  // and this.
  std::optional<async::Stream> stream_;
  async::Notifier has_output_;
  std::string in_;
  std::size_t taken_ = 0;  // Bytes of in_ whose messages are handed out already.
  std::string out_;
  bool connected_ = false;
};

}  // namespace runnel::agent
