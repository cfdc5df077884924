#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/file_reads.h"
#include "agent/gpu_reader.h"
#include "agent/health_watch.h"
#include "agent/hooks/checkpoint_copy.h"
#include "agent/hooks/secrets.h"
#include "agent/log_watch.h"
#include "agent/metric_plan.h"
#include "agent/metrics_watch.h"
#include "agent/patient_reads.h"
#include "agent/runner/message.h"
#include "agent/runner_client.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/worker.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "model/input.h"
#include "model/node.h"
#include "model/order.h"
#include "model/report.h"
#include "model/usage.h"

namespace runnel::agent {

struct AgentOptions {
  std::string home;
  std::vector<NodeId> nodes;  // All nodes of this home: they share one runner.
  Epoch epoch;
  // Starts a runner of this home: argv, argv[0] is the path of the file.
  std::vector<std::string> runner_command;
  std::string
      api;  // RUNNEL_API: where a task finds the service, "unix:/home/me/.runnel/daemon.sock"
  // start() returns after this though no runner has answered: whoever asks must be told so.
  Duration meet_max = Duration::seconds(30);
  std::string python_path;  // Where a task's Python finds our package; "": nowhere.
  // This process's environment, "NAME=value": what tasks inherit of it, inheritable() says.
  std::vector<std::string> environment;
};

// Of the jobs whose files are here, those that control knows no more.
struct Leftovers {
  std::vector<JobId> deleted;  // By a durable record: their files go.
  std::vector<JobId> unknown;  // Nothing tells why: a log that lost its end, or another home's.
};

// What the agent tells control, on the loop.
struct AgentEvents {
  // The runner is there, for the first time or again: what it has of this node. Before any report.
  std::function<void(model::NodeInventory)> on_join;
  std::function<void(model::NodeReport)> on_reports;
  // The connection ended; the agent looks for the runner, or starts one, and on_join follows.
  std::function<void(std::string reason)> on_runner_lost;
  std::function<Async<Leftovers>(std::vector<JobId>)> leftovers;
  // Something for daemon.log: a full sentence.
  std::function<void(std::string sentence)> on_notice;
};

// Carries out what control wants of this home's nodes, by the home's runner, and reports what comes
// of it.
//
// Contract: apply() is idempotent. Orders of an older epoch are refused; those for another
//           incarnation or while the runner is away are dropped: on_join answers with all that is
//           there, and control sends the difference. Files of deleted jobs go in any case, at the
//           order or, when that was lost, after the next join; those of jobs that control cannot
//           tell anything about are set aside. At most kInFlightMax attempts are handed to the
//           runner at once, the others wait here in order.
// Threads:  the loop's only; four workers: "agent-plans" keeps where steps report, "agent-gpus"
//           asks the GPUs' driver, "agent-copies" copies checkpoints and "agent-removals" removes
//           folders, however long that takes. What trials report, logs and metrics for who asks
//           for them, and each file that holds a secret, are read on threads of their own: one
//           that hangs holds up nobody else.
// Lifetime: start() .. stop(), which is awaited before destruction. The runner outlives the agent:
//           its attempts go on, and the next agent finds them.
// Why:      everything that needs the home's files and the runner's socket, so that control stays
//           the same for a home, a server and a simulator.
class Agent {
 public:
  static constexpr std::size_t kInFlightMax = 2'048;
  static constexpr std::size_t kWaitingMax = 65'536;
  static constexpr std::size_t kBatchBytesMax = 4 << 20;
  static constexpr Duration kReconnectAfter = Duration::millis(200);
  // An end waits so long for what its trial reported last. A join does not: it is every attempt's.
  static constexpr Duration kLastReportsMax = Duration::seconds(60);
  static constexpr Duration kTurnAgainAfter = Duration::millis(50);
  static constexpr Duration kCopyAgainAfter = Duration::millis(100);
  static constexpr int kCopiesMax = 100;  // Of a checkpoint that is being written.
  static constexpr Duration kLogLinger = Duration::seconds(5);

  Agent(async::EventLoop& loop, env::Clock& clock, AgentOptions options, AgentEvents events);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Returns when the runner has been found or started and on_join has told of each node, or after
  // meet_max: then on_join follows.
  Async<void> start();
  Async<void> stop();
  Result<void> apply(const model::NodeOrders& orders);
  // Kills whatever still runs for the node: it is gone.
  void kill_all(const NodeId& node);

  Async<model::LogPage> read_log(model::LogFilter filter, std::string cursor);
  Async<void> log_changed(JobId job, async::StopToken stop);
  Async<model::MetricPage> read_metrics(model::MetricFilter filter);
  // What the job's attempts use here, watched for `window`.
  Async<std::vector<model::TaskUsage>> read_usage(JobId job, Duration window);

  std::int64_t runner_pid() const { return runner_pid_; }
  // A runner that does not answer. It is left alone: its attempts live, and it may go on.
  std::optional<RunnerSilence> runner_silence() const { return runner_.silence(); }
  const Incarnation& incarnation() const { return incarnation_; }
  // What a person should know about the home's files and its runner: sentences.
  std::vector<std::string> notices() const;

 private:
  // An attempt that waits here, was handed to the runner, or ended and is not forgotten.
  struct Known {
    std::int32_t ranks_left = 0;
    bool handed_over = false;
    bool running = false;             // Its ranks here begin together.
    std::vector<std::int32_t> ended;  // Of its ranks, while others go on.
  };

  Async<void> first_meeting();
  Async<void> meet_runner();
  Async<void> keep_runner();
  Async<void> take_message(Message message);
  void begin_inventory();
  Async<void> follow_again(std::vector<RankFact> facts);
  Async<void> load_plans(std::vector<MetricPlans::Key> keys);
  void take_inventory(Facts facts, MetricsWatch::Reports metrics);
  void finish_inventory();
  void take_news(Facts facts);
  Async<void> take_ends(std::vector<RankFact> facts, std::int64_t inventory);
  void note(const RankFact& fact);
  using Reports = std::map<NodeId, model::NodeReport>;
  void report(Reports reports);

  void take_start(const NodeId& node, const model::StartOrder& order);
  void take_watch(const NodeId& node, const model::WatchOrder& order);
  Result<PlaceStart> place_of(const NodeId& node, const model::StartOrder& order,
                              const SecretTexts& texts) const;
  // Whether its files must be read, written or copied before it can start.
  bool needs_preparation(const model::StartOrder& order) const;
  // Only rank 0 reports, and only where the step says of what.
  static bool begins_again(const model::StartOrder& order);
  static bool keeps_plan(const model::StartOrder& order);
  static bool reads_output(const model::StartOrder& order);
  void refuse(const NodeId& node, const model::StartOrder& order, const Error& error);
  void take_stop(const NodeId& node, const model::StopOrder& order, StopBatch& batch);
  Async<void> prepare(NodeId node, model::StartOrder order, std::int64_t preparation);
  struct Prepared {
    PlaceStart place;
    std::int64_t output_from = 0;  // The record of the job's index from which its output is found.
  };
  Async<Prepared> prepared(NodeId node, model::StartOrder order);
  Async<std::int64_t> output_begin(JobId job);
  Async<SecretTexts> read_secrets(JobId job, std::vector<model::SecretRef> secrets);
  Async<void> keep_plan(model::StartOrder order);
  Async<void> keep_begin(model::StartOrder order);
  Async<void> copied(CheckpointCopy copy);
  void enqueue(PlaceStart place, const model::StartOrder& order, std::int64_t output_from);
  // The ranks that it would have started, as an order.
  std::optional<model::StartOrder> take_waiting(const AttemptOnNode& of);
  void hand_over();
  void withdraw(const AttemptOnNode& of);
  void give_up(const NodeId& node, const model::StartOrder& order, const Error& error);
  Async<void> remove_job(JobId job);
  Async<void> sweep();
  Async<void> set_aside_unknown(std::vector<JobId> jobs);
  void rest(const JobId& job);
  bool in_use(const JobId& job) const;
  void job_begins(const JobId& job);
  void job_goes_on(const JobId& job, std::int32_t change);
  Async<void> drop_quiet_logs(async::StopToken stop);

  async::EventLoop& loop_;
  env::Clock& clock_;
  const AgentOptions options_;
  const AgentEvents events_;
  const std::vector<std::string> inherited_;
  RunnerClient runner_;
  LogWatch watch_;
  FileReads reads_;
  PatientReads log_reads_;
  PatientReads series_reads_;
  PatientReads begin_reads_;
  MetricPlans plans_;
  MetricsWatch metrics_;
  HealthWatch health_;
  std::unique_ptr<async::Worker> plan_files_;
  GpuSampler gpu_sampler_;  // The next worker's.
  std::unique_ptr<async::Worker> gpus_;
  std::unique_ptr<async::Worker> copies_;
  std::unique_ptr<async::Worker> removals_;
  async::Gate gate_;

  Incarnation incarnation_;
  std::int64_t runner_pid_ = 0;
  std::string runner_notice_;               // What it had to tell at its start.
  bool crashed_idle_ = false;               // The runner before, while nothing ran.
  std::string files_notice_;                // About what was set aside.
  std::map<JobId, std::string> unremoved_;  // Deleted jobs whose files are still there, and why.
  bool ready_ = false;                      // The inventory has been told.
  std::int64_t inventories_ = 0;            // That began.
  bool joined_once_ = false;                // It has been told once.
  std::optional<Error> refused_;            // By the first runner that was met.
  async::Notifier joined_;
  std::map<AttemptOnNode, Known> known_;
  std::deque<PlaceStart> waiting_;
  // Whose files are made ready before they wait.
  struct Preparing {
    model::StartOrder ranks;       // Of the order, who they are.
    std::int64_t preparation = 0;  // One of an earlier life of the runner must not end this one.
  };
  std::map<AttemptOnNode, Preparing> preparing_;
  std::int64_t preparations_ = 0;
  std::size_t in_flight_ = 0;
  std::map<NodeId, model::NodeInventory> inventory_;
  struct JobUse {
    std::int64_t attempts = 0;
    Duration quiet_since;
  };
  std::map<JobId, JobUse> jobs_;
};

}  // namespace runnel::agent
