#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/patient_reads.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "control/api/api.h"
#include "control/controller.h"
#include "control/draining.h"
#include "env/file_lock.h"
#include "home/answer_record.h"
#include "home/daemon_log.h"
#include "home/home.h"
#include "home/node_glue.h"
#include "home/nodes_watch.h"
#include "home/periodic_look.h"
#include "home/place.h"
#include "home/say.h"
#include "http/router.h"
#include "http/server.h"
#include "model/node.h"

namespace runnel::home {

// After so long without a connection and with nothing to do the daemon ends.
inline constexpr Duration kLinger = Duration::seconds(2);

// Why a daemon ends. Of several the last in this order counts: who asked for its end must not get
// one that begins anew.
enum class DaemonEnd : std::uint8_t { kNone, kNodes, kIdle, kAsked };

// The home daemon: control and agent of one home in one process. The composition root that knows
// both.
//
// Contract: run() opens the home, serves until there is nothing left to do and nobody is connected,
//           or until a signal or POST /api/v1/home:stop, or until the nodes of the home are others,
//           and closes it again. In the latter case next_nodes() are those that a daemon begins
//           anew with: a start is the one way by which nodes come, change and go. A node that its
//           file names no more is kept until what runs there has ended. When the home or
//           its log was moved away the process ends at once, as one that was killed: whatever an
//           orderly end does it does by paths, and those are another's now.
// Threads:  the loop's; the log writer and the agent own their workers.
// Lifetime: members are declared in the order of their use; stop() takes them down in reverse.
class Daemon {
 public:
  // Without nodes, because their file cannot be used, it serves with those that the log knows.
  // `python_path`: where tasks find our Python package, or "".
  Daemon(async::EventLoop& loop, Home home, NodesInForce nodes, std::string python_path, Say say);
  ~Daemon();

  Async<void> run();
  std::optional<NodesInForce> next_nodes() const {
    return end_ == DaemonEnd::kNodes ? next_nodes_ : std::nullopt;
  }

 private:
  Async<void> open();
  Async<void> close();
  Async<void> until_idle();
  bool idle() const;
  void take_nodes(const std::vector<std::string>& device_command);
  // Those of the file, and what the work that goes on makes of them.
  std::vector<model::NodeInfo> nodes_due() const;
  void begin_anew(NodesInForce next);
  Async<void> watch_draining();
  void watch_place();
  void watch_room();
  control::HomeInfo info() const;
  Async<std::optional<control::Silence>> room();
  void end(DaemonEnd why);
  Async<http::Reply> answer(http::Request request);
  void tell_start(Duration took);

  async::EventLoop& loop_;
  Home home_;
  NodesInForce nodes_file_;  // As it was before the log was read.
  std::vector<model::NodeInfo> nodes_;
  std::string python_path_;
  DaemonLog lines_;
  const Say say_;  // To whoever looks after the home.
  control::FileSecrets secrets_;
  agent::PatientReads room_reads_;
  async::Gate gate_;
  async::Notifier ending_;
  DaemonEnd end_ = DaemonEnd::kNone;
  std::optional<NodesInForce> next_nodes_;
  std::unique_ptr<NodesWatch> nodes_watch_;
  Served served_;
  std::unique_ptr<PeriodicLook<std::string>> place_watch_;
  bool told_full_ = false;
  std::unique_ptr<PeriodicLook<std::optional<control::Silence>>> room_watch_;
  Duration visited_at_;  // When somebody connected or left the last time.
  std::unique_ptr<control::Controller> controller_;
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<NodeGlue> glue_;
  std::unique_ptr<LogGlue> logs_;
  std::unique_ptr<control::Api> api_;
  http::Router router_;
  std::unique_ptr<AnswerRecord> answers_;  // Null but in tests that look at each answer.
  std::unique_ptr<http::Server> server_;
};

}  // namespace runnel::home
