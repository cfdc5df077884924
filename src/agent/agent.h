#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/device_watch.h"
#include "agent/health_watch.h"
#include "agent/held_ends.h"
#include "agent/job_files.h"
#include "agent/log_watch.h"
#include "agent/metrics_watch.h"
#include "agent/output_reader.h"
#include "agent/preparer.h"
#include "agent/runner_client.h"
#include "agent/secret_source.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "model/node.h"
#include "model/order.h"
#include "model/report.h"
#include "node/core.h"
#include "node/message.h"
#include "runner/message.h"

namespace runnel::agent {

struct AgentOptions {
  std::string home;
  std::vector<model::NodeInfo> nodes;  // All nodes of this home: they share one runner.
  Epoch epoch;
  node::NodeLimits limits = {};  // Of each node.
  // Starts a runner of this home: argv, argv[0] is the path of the file.
  std::vector<std::string> runner_command;
  std::vector<std::string> volume_command;  // Mounts volumes: phases/volumes.h. Empty: none can be.
  std::vector<std::string> device_command;  // Prints a look at the devices; empty: nobody looks.
  std::string
      api;  // RUNNEL_API: where a task finds the service, "unix:/home/me/.runnel/daemon.sock"
  // start() returns after this though no runner has answered: whoever asks must be told so.
  Duration meet_max = Duration::seconds(30);
  std::shared_ptr<const SecretSource> secrets;  // Null: no order names a value of control's.
  std::string python_path;  // A path where a task's Python finds our package; "": none.
  // This process's environment, "NAME=value": what tasks inherit of it, inheritable() says.
  std::vector<std::string> environment;
};

// What the agent tells control, on the loop.
struct AgentEvents {
  // A message of one of its nodes: an inventory first, as soon as the runner is there.
  std::function<void(node::Up)> on_message;
  // The connection ended; the agent looks for the runner, or starts one, and inventories follow.
  std::function<void(std::string reason)> on_runner_lost;
  std::function<Async<Leftovers>(std::vector<JobId>)> leftovers;
  // Something for daemon.log: a full sentence.
  std::function<void(std::string sentence)> on_notice;
};

// Carries out what control wants of this home's nodes, by the home's runner, and reports what comes
// of it.
//
// Contract: which orders count, and when, each node's core says (node/core.h). Asked for an
//           inventory, the agent meets its runner anew. Files of deleted jobs go in any case, at
//           the order or, when that was lost, after the next join; those of jobs that control
//           cannot tell anything about are set aside. What runs for a node that the home has no
//           more is ended, and no node joins before it has.
// Threads:  the loop's only; its parts name those that they have.
// Lifetime: start() .. stop(), which is awaited before destruction. The runner outlives the agent:
//           its attempts go on, and the next agent finds them.
// Why:      everything that needs the home's files and the runner's socket, so that control stays
//           the same for a home, a server and a simulator.
class Agent {
 public:
  static constexpr std::size_t kBatchBytesMax = 4 << 20;
  static constexpr Duration kReconnectAfter = Duration::millis(200);
  // An end waits so long for what its trial reported last. A join does not: it is every attempt's.
  static constexpr Duration kLastReportsMax = Duration::seconds(60);
  static constexpr Duration kLogLinger = Duration::seconds(5);
  // What runs for a node that the home has no more gets so long to end by itself.
  static constexpr Duration kStrangersGrace = Duration::seconds(5);

  Agent(async::EventLoop& loop, env::Clock& clock, AgentOptions options, AgentEvents events);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Returns when the runner has been found or started and each node has joined, or after meet_max:
  // then they join later.
  Async<void> start();
  Async<void> stop();
  Result<void> apply(model::NodeOrders orders);
  // Kills whatever still runs for the node, which tells nothing and does not join until it is back.
  void take_away(const NodeId& node);
  void bring_back(const NodeId& node);

  OutputReader& output() { return output_; }
  // The usage of the job's attempts here, watched for `window`.
  Async<std::vector<model::TaskUsage>> read_usage(JobId job, Duration window);
  Async<void> log_changed(JobId job, async::StopToken stop);

  std::int64_t runner_pid() const { return runner_pid_; }
  // A runner that does not answer. It is left alone: its attempts live, and it may go on.
  std::optional<RunnerSilence> runner_silence() const { return runner_.silence(); }
  const Incarnation& incarnation() const { return incarnation_; }
  // Attempts that cannot begin yet.
  std::vector<Preparer::Waiting> waiting() const;
  // What a person should know about the home's files and its runner: sentences.
  std::vector<std::string> notices() const;

 private:
  // The runner.
  Async<void> first_meeting();
  Async<void> meet_runner();
  Async<void> keep_runner();
  // All nodes that are not away join anew.
  void join_again();
  void lose_runner();
  Async<void> take_message(runner::Message message);
  // All that the runner has, which it tells in parts.
  void begin_inventory();
  Async<void> follow_again(std::vector<runner::RankFact> facts);
  void take_inventory(runner::Facts facts, MetricsWatch::Reports metrics);
  void take_stranger(const runner::RankFact& fact);
  void end_stranger(const runner::RankFact& fact);
  void finish_inventory();
  // The news that it tells later.
  void take_news(runner::Facts facts);
  void take_held(runner::RankFact fact);
  bool may_have_a_cause(const runner::RankFact& fact) const;
  bool may_lack_a_device(const runner::RankFact& fact) const;
  Async<void> add_causes(std::vector<runner::RankFact>& facts);
  Async<void> take_ends(std::vector<runner::RankFact> facts, std::int64_t inventory);
  using NewsByNode = std::map<NodeId, node::News>;
  // What comes of one turn of the loop is told together, at its end.
  void tell(const NodeId& node, node::News news);
  void tell(NewsByNode news);
  Async<void> report_soon();
  void report_news();

  // Orders.
  void perform(const NodeId& node, node::NodeCore::Work work);
  void prepare(const NodeId& node, node::NodeCore::Preparation preparation);
  Async<void> prepare_files(NodeId node, node::NodeCore::Preparation preparation);
  Preparer::Standing standing_of(const runner::AttemptOnNode& of) const;
  void take_back(const runner::AttemptOnNode& of);
  void drop(const runner::AttemptOnNode& of);
  void end_parts(const runner::AttemptOnNode& of);
  void end_preparation(const NodeId& node, const node::NodeCore::Preparation& preparation,
                       Result<Preparer::Prepared> made);
  void give_up(const NodeId& node, std::vector<model::RankReport> not_started);
  void hand_over();
  void note_held_back();

  bool in_use(const JobId& job) const;
  void close_job(const JobId& job);
  void watch_log(const JobId& job);
  Async<void> drop_quiet_logs(async::StopToken stop);

  async::EventLoop& loop_;
  env::Clock& clock_;
  const AgentOptions options_;
  const AgentEvents events_;
  RunnerClient runner_;
  LogWatch watch_;
  Preparer preparer_;
  HeldEnds held_ends_;
  MetricsWatch metrics_;
  HealthWatch health_;
  DeviceWatch devices_;
  JobFiles files_;
  OutputReader output_;
  async::Gate gate_;

  Incarnation incarnation_;
  std::int64_t runner_pid_ = 0;
  std::string runner_notice_;  // Told by the runner at its start.
  bool crashed_idle_ = false;  // The runner before, while nothing ran.
  bool started_ = false;
  bool ready_ = false;  // All nodes have joined.
  bool reports_soon_ = false;
  bool hung_up_ = false;          // The connection ends because it was asked to.
  std::int64_t inventories_ = 0;  // That began.
  bool joined_once_ = false;
  std::optional<Error> refused_;  // By the first runner that was met.
  async::Notifier joined_;
  std::map<NodeId, node::NodeCore> cores_;
  std::set<NodeId> away_;  // Nodes that were taken away.
  std::map<NodeId, node::Inventory> inventory_;
  std::vector<runner::RankFact> finished_;  // Ends that were held, until the nodes have joined.
  // Ranks that live of nodes which this home has no more: no node joins before they have ended,
  // since their tasks may have been given to others.
  std::map<runner::AttemptOnNode, std::set<std::int32_t>> strangers_;
  std::map<runner::AttemptOnNode, runner::PlaceStart> places_;  // Ready, until their turn comes.
  // What the cores hold back, since when: by the time of day, and since boot.
  std::map<runner::AttemptOnNode, std::pair<Time, Duration>> held_back_;
  std::map<JobId, Duration> quiet_since_;  // A watched job's last use.
};

}  // namespace runnel::agent
