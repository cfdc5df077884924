#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/unique_fd.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "runner/connection.h"
#include "runner/home_socket.h"
#include "runner/message.h"
#include "runner/runner.h"
#include "runner/supervisor.h"

namespace runnel::runner {

// The runner's loop: one poll() over the agent's connection, newcomers and signals.
//
// Contract: one agent at a time. A new one with the same or a newer epoch takes the place of the
//           old; one with an older epoch is refused. News go out at once when the last are old
//           enough, else together after kNewsEvery: one write for many short tasks. A newcomer says
//           Hello alone and waits for the answer. While the home is not in its place it starts
//           nothing and meets no agent; idle, it ends when one comes. When the home was removed, it
//           ends what runs. A socket that was lost is
//           restored within kLookEvery, and the journal with it. When the home was removed, it
//           ends what runs.
// Threads:  the process's only one.
class RunnerServer {
 public:
  static constexpr Duration kNewsEvery = Duration::millis(4);
  static constexpr Duration kLookEvery = Duration::seconds(1);
  static constexpr std::size_t kNewsFrame = 8'192;
  static constexpr std::size_t kNewsFrameBytes = 4 << 20;

  RunnerServer(const RunnerOptions& options, Supervisor& supervisor, HomeSocket& socket,
               async::UniqueFd signals, Welcome welcome);
  // Until there is nothing left to do.
  void run();

 private:
  void wait_and_serve();
  int wait_millis() const;
  void take_signals();
  void end();
  void take_newcomers();
  void look_after_files();
  Result<void> restore_files();
  void hear(std::optional<Connection>& from);
  void take(std::optional<Connection>& from, Message& message);
  void take_starts(StartBatch batch);
  void welcome(Connection newcomer, const Hello& hello);
  void meet_in_another_place(const std::function<void(std::string)>& refuse);
  void tell_news();
  void send_facts(FactsKind last, const std::vector<RankFact>& facts);
  bool finished() const;
  bool idle_for(Duration limit) const;

  const RunnerOptions& options_;
  Supervisor& supervisor_;
  HomeSocket& socket_;  // Closed by its owner, after us.
  async::UniqueFd signals_;
  const Welcome welcome_;  // The first message to each agent.
  std::optional<Connection> agent_;
  std::optional<Connection> newcomer_;  // Has not said Hello yet.
  Epoch epoch_;
  Duration news_at_;  // When news were last sent.
  Duration idle_since_;
  Duration look_at_;  // When the socket is looked at next ...
  std::string lack_;  // ... and why it could not be restored, as the log says.
  bool leave_when_idle_ = false;
  bool ending_ = false;
};

}  // namespace runnel::runner
