#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "control/controller.h"
#include "control/job_document.h"
#include "control/log_source.h"
#include "control/progress_document.h"
#include "control/query.h"
#include "http/message.h"
#include "http/router.h"
#include "model/codec.h"

namespace runnel::control {

// A part of the home that does not answer.
struct Silence {
  std::string message;
  std::string remedy;
};

// What a home tells of itself.
struct HomeInfo {
  std::string home;  // Its folder.
  std::string socket;
  std::string version;
  std::int64_t daemon_pid = 0;
  std::int64_t runner_pid = 0;  // 0: not known now.
  std::optional<Silence> runner_silence;
  std::optional<Silence> nodes_problem;  // Why a changed nodes.yaml is not in force.
  std::vector<std::string> notices;      // What was set right, or could not be; for a person.
};

// A node of the home is taken away as a cloud takes back spot capacity: `notice` to save and end,
// then it is gone for `away`.
struct Preemption {
  NodeId node;
  Duration notice;
  Duration away;
};
inline constexpr Duration kNoticeDefault = Duration::seconds(30);
inline constexpr Duration kAwayDefault = Duration::seconds(60);

// What the composition root lends to the API.
struct ApiHost {
  std::function<HomeInfo()> info;
  // What room the home's disk lacks, so that what is asked to start waits; kUnavailable when it
  // does not say so in time. Of any other error nothing is known of the disk.
  std::function<Async<std::optional<Silence>>()> room;
  std::function<void()> stop;  // Begin to end the daemon, after the answer has left.
  std::function<Async<void>(Preemption)> preempt;  // Returns when the notice is durable.
};

// One thing that can be asked. The table of all of them makes the routes and /openapi.json.
struct Operation {
  http::Method method = http::Method::kGet;
  std::string_view path;  // Below /api/v1, and again below /api/v1/projects/{project}.
  std::string_view summary;
  std::string_view answer;     // The shape of its answer; see api_schemas().
  std::string_view body = {};  // And of what is sent.
};

// The HTTP API of conventions section 6 on a Controller.
//
// Contract: add_routes() registers everything once. Answers leave when all they rest on is durable;
//           errors become problem documents. A list costs as much as its page. Who waits for the
//           home's disk while it says nothing for `disk_patience` is told so (503); what was asked
//           for goes on, and what is decided of it stands.
// Threads:  the loop's only.
// Lifetime: controller, logs and host outlive it. stop() is awaited after the server that has these
//           routes was stopped, and before the controller is.
// Limits:   kUnansweredMax requests go on without anybody who waits for them; more are refused.
class Api {
 public:
  static constexpr Duration kDiskPatience = Duration::seconds(4);
  static constexpr int kUnansweredMax = 1'024;

  Api(async::EventLoop& loop, Controller& controller, LogSource& logs, ApiHost host,
      Duration disk_patience = kDiskPatience)
      : loop_(loop),
        controller_(controller),
        logs_(logs),
        host_(std::move(host)),
        disk_patience_(disk_patience),
        gate_(loop) {}

  void add_routes(http::Router& router);
  Async<void> stop();

 private:
  using Handle = Async<http::Reply> (Api::*)(http::Request);
  struct Route {
    Operation operation;
    Handle handle;
  };
  static const std::vector<Route>& routes();
  static const std::vector<Route>& service_routes();
  // Whether an operation may have to wait for the home's disk.
  enum class Rests : std::uint8_t { kOnMemory, kOnDisk };
  void add(http::Router& router, std::string_view prefix, const Route& route, Rests rests);

  // api_patience.cc
  struct Pending;
  Async<http::Reply> patiently(Handle handle, http::Request request);
  Async<void> go_on(std::shared_ptr<Pending> pending, Handle handle, http::Request request);
  // Of the home's disk, once it has said nothing for `disk_patience_`.
  std::optional<Silence> disk_silence() const;
  // Asks the disk, unless it is known to be silent.
  struct DiskState {
    std::optional<Silence> full;
    std::optional<Silence> silent;
  };
  Async<DiskState> disk_state() const;

  // api_jobs.cc
  Async<http::Reply> submit(http::Request request);
  Async<http::Reply> get_job(http::Request request);
  Async<http::Reply> cancel(http::Request request);
  Async<http::Reply> halt(http::Request request);
  Async<http::Reply> resume(http::Request request);
  Async<http::Reply> retry(http::Request request);
  Async<http::Reply> remove(http::Request request);
  Async<http::Reply> call(http::Request request, model::JobRequest::Verb verb);
  Async<http::Reply> explain(http::Request request);
  // The whole id of the path's job, which is one of the path's project.
  Async<JobId> job_of_path(const http::Request& request);
  Async<ProjectId> project_of_job(JobId job);
  // With progress where live tasks' metrics are given, though they be none.
  Async<std::string> document_of(JobId job, JobView view,
                                 std::optional<LiveMetrics> metrics = std::nullopt);
  Async<LiveMetrics> live_metrics(JobId job);

  // api_list.cc
  Async<http::Reply> list_jobs(http::Request request);

  // api_tasks.cc
  Async<http::Reply> list_tasks(http::Request request);
  Async<http::Reply> get_task(http::Request request);
  Async<std::string> history_of(model::TaskRef task, EventSeq first, EventSeq last);

  // api_events.cc
  Async<http::Reply> all_events(http::Request request);
  Async<http::Reply> job_events(http::Request request);
  Async<http::Reply> events(http::Request request, JobId job);
  Async<EventSeq> first_event_of(JobId job);
  Async<EventSeq> beginning();
  Async<void> watch(EventQuery query, bool until_end, StreamForm form, http::StreamWriter& out);

  // api_logs.cc
  Async<http::Reply> read_logs(http::Request request);
  // Without a specification steps are told by their positions.
  Result<model::LogFilter> log_query(const http::Request& request, const JobId& job,
                                     const model::JobSpec* spec) const;
  // How output is told.
  struct LogForm {
    Flag follow = Flag::kOff;
    StreamForm stream = StreamForm::kJsonLines;
    bool raw = false;
    std::vector<std::string> step_names;
  };
  struct LogRead {
    model::LogPage page;
    bool over = false;  // The job had ended before: nothing follows an empty page.
  };
  Async<LogRead> read_page(model::LogFilter query, std::string cursor);
  // Over as many turns of the loop as it takes.
  Async<void> write_piece(const model::LogPiece& piece, const LogForm& form,
                          http::StreamWriter& out);
  Async<void> stream_logs(model::LogFilter query, LogRead read, LogForm form,
                          http::StreamWriter& out);
  Async<void> more_output(JobId job, async::StopToken stop);
  bool is_over(const JobId& job) const;
  // Null of a job that an earlier build archived.
  struct JobFacts {
    std::shared_ptr<const model::JobSpec> spec;  // Null: nobody knows any more.
    bool ran = false;                            // A task of it has begun here.
  };
  Async<JobFacts> facts_of(JobId job);

  // api_metrics.cc
  Async<http::Reply> read_metrics(http::Request request);
  Async<http::Reply> read_usage(http::Request request);
  static Result<model::MetricFilter> metric_query(const http::Request& request, const JobId& job,
                                                  const model::JobSpec* spec);

  // api_trials.cc
  Async<http::Reply> list_trials(http::Request request);
  Async<http::Reply> get_trial(http::Request request);
  Async<http::Reply> importance(http::Request request);
  // Makes a document of a study; `step` is the request's.
  using StudyView = std::function<Result<std::string>(const brain::Job&, StepIndex)>;
  Async<http::Reply> view_study(http::Request request, StudyView view);
  Async<http::Reply> ask_trial(http::Request request);
  Async<http::Reply> report_trial(http::Request request);
  Async<http::Reply> tell_trial(http::Request request);
  Async<http::Reply> call_trial(http::Request request, model::TrialCall::Verb verb);
  Result<model::TrialCall> read_trial_call(const http::Request& request, const JobId& id,
                                           model::TrialCall::Verb verb) const;

  // api_service.cc
  Async<http::Reply> list_nodes(http::Request request);
  Async<http::Reply> preempt_node(http::Request request);
  Async<http::Reply> get_home(http::Request request);
  Async<http::Reply> stop_home(http::Request request);
  Async<http::Reply> health(http::Request request);
  Async<http::Reply> ready(http::Request request);
  Async<http::Reply> version(http::Request request);
  Async<http::Reply> openapi(http::Request request);

  async::EventLoop& loop_;
  Controller& controller_;
  LogSource& logs_;
  ApiHost host_;
  const Duration disk_patience_;
  int unanswered_ = 0;
  async::Gate gate_;
};

// {"message": ..., "remedy": ...}
json::Value silence_document(const Silence& silence);

// The request's Idempotency-Key; "" for none.
Result<std::string> key_of(const http::Request& request);

// The project of a path below /projects/{project}; "default" for the short form.
Result<ProjectId> project_of(const http::Request& request);

http::Response with_version(http::Response response, EventSeq version);

}  // namespace runnel::control
