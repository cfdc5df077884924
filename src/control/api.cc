#include "control/api.h"

#include <algorithm>
#include <utility>

namespace runnel::control {
namespace {

constexpr std::string_view kRoot = "/api/v1";
constexpr std::string_view kInProject = "/api/v1/projects/{project}";
constexpr std::size_t kProjectBytesMax = 63;

bool is_project_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
}

}  // namespace

const std::vector<Api::Route>& Api::routes() {
  using enum http::Method;
  static const std::vector<Route> kTable = {
      {{kPost, "/jobs", "Submit a job; answers when it is durable", "Job", "Submission"},
       &Api::submit},
      {{kGet, "/jobs", "List jobs, newest first; kind=study those with a search", "JobPage"},
       &Api::list_jobs},
      {{kGet, "/jobs/{id}", "One job; any unique prefix of its id", "Job"}, &Api::get_job},
      {{kDelete, "/jobs/{id}", "Remove the record, logs and folders of an ended job", "Deleted"},
       &Api::remove},
      {{kPost, "/jobs/{id}:cancel", "Stop a job for good", "Job", "Call"}, &Api::cancel},
      {{kPost, "/jobs/{id}:halt", "Stop a job and keep what it needs to go on", "Job", "Call"},
       &Api::halt},
      {{kPost, "/jobs/{id}:resume", "Go on with a halted job", "Job", "Call"}, &Api::resume},
      {{kPost, "/jobs/{id}:retry", "Run again what failed of an ended job", "Job", "Call"},
       &Api::retry},
      {{kGet, "/jobs/{id}/tasks", "List the tasks of a job", "TaskPage"}, &Api::list_tasks},
      {{kGet, "/jobs/{id}/tasks/{step}/{index}", "One task with its attempts", "TaskHistory"},
       &Api::get_task},
      {{kGet, "/jobs/{id}/events", "What happened to a job; watch=1 goes on", "EventPage"},
       &Api::job_events},
      {{kGet, "/jobs/{id}/logs", "Output of a job's tasks; follow=1 goes on", "LogLine"},
       &Api::read_logs},
      {{kGet, "/jobs/{id}/metrics", "What a job's tasks reported", "MetricPage"},
       &Api::read_metrics},
      {{kGet, "/jobs/{id}/usage", "What a job's running tasks use", "Usage"}, &Api::read_usage},
      {{kGet, "/jobs/{id}/trials", "The trials of a search", "TrialPage"}, &Api::list_trials},
      {{kGet, "/jobs/{id}/trials/{trial}", "One trial with its reports", "Trial"}, &Api::get_trial},
      {{kGet, "/jobs/{id}/importance", "How much each parameter of a search matters", "Importance"},
       &Api::importance},
      {{kPost, "/jobs/{id}/trials:ask", "The next trial of a search that is run outside", "Asked",
        "Lease"},
       &Api::ask_trial},
      {{kPost, "/jobs/{id}/trials/{trial}:report", "A value on the way; answers whether to stop",
        "Trial", "Told"},
       &Api::report_trial},
      {{kPost, "/jobs/{id}/trials/{trial}:tell", "What came of a trial", "Trial", "Told"},
       &Api::tell_trial},
      {{kGet, "/jobs/{id}/explain", "Why a job is not running", "Explanation"}, &Api::explain},
      {{kGet, "/events", "What happened; watch=1 goes on", "EventPage"}, &Api::all_events},
      {{kGet, "/nodes", "Nodes and what is free on them", "NodeList"}, &Api::list_nodes},
      {{kPost, "/nodes/{name}:preempt", "Take a node away for a while, with a notice",
        "Preemption"},
       &Api::preempt_node},
  };
  return kTable;
}

const std::vector<Api::Route>& Api::service_routes() {
  using enum http::Method;
  static const std::vector<Route> kTable = {
      {{kGet, "/api/v1/home", "Paths and processes of this home", "Home"}, &Api::get_home},
      {{kPost, "/api/v1/home:stop", "End the daemon; attempts go on", "Stopping"}, &Api::stop_home},
      {{kGet, "/healthz", "Whether the process answers", "Health"}, &Api::health},
      {{kGet, "/readyz", "Whether requests can be accepted", "Health"}, &Api::ready},
      {{kGet, "/version", "The version of this build", "Version"}, &Api::version},
      {{kGet, "/openapi.json", "This API as an OpenAPI document", ""}, &Api::openapi},
  };
  return kTable;
}

void Api::add(http::Router& router, std::string_view prefix, const Route& route, Rests rests) {
  const Handle handle = route.handle;
  CHECK(handle != nullptr, "an operation without a handler");
  CHECK(route.operation.path.front() == '/', "a path begins with a slash");
  router.add(route.operation.method, std::string(prefix) + std::string(route.operation.path),
             [this, handle, rests](http::Request request) {
               if (rests == Rests::kOnMemory) return (this->*handle)(std::move(request));
               return patiently(handle, std::move(request));
             });
}

void Api::add_routes(http::Router& router) {
  for (const Route& route : routes()) {
    add(router, kRoot, route, Rests::kOnDisk);
    add(router, kInProject, route, Rests::kOnDisk);
  }
  for (const Route& route : service_routes()) add(router, "", route, Rests::kOnMemory);
}

Result<ProjectId> project_of(const http::Request& request) {
  for (const auto& [name, value] : request.params) {
    if (name != "project") continue;
    const bool letters = std::all_of(value.begin(), value.end(), is_project_letter);
    if (!value.empty() && letters && value.size() <= kProjectBytesMax) return ProjectId(value);
    return Error(Errc::kInvalid, "this cannot be the name of a project")
        .with_field("project")
        .with_value(value)
        .with_hint("names have 1 to 63 of a-z, 0-9 and '-'");
  }
  return ProjectId("default");
}

http::Response with_version(http::Response response, EventSeq version) {
  response.headers.set("ETag", "\"" + std::to_string(version.value()) + "\"");
  return response;
}

}  // namespace runnel::control
