#include "control/api/explain_route.h"

#include <string>
#include <utility>
#include <vector>

#include "brain/explain.h"
#include "json/value.h"

namespace runnel::control {
namespace {

void write_blockers(json::Value& wait, const std::vector<JobId>& blockers) {
  if (blockers.empty()) return;
  json::Value::List ids;
  for (const JobId& job : blockers) ids.push_back(json::Value::text(job.str()));
  wait.set("blockers", json::Value::list(std::move(ids)));
}

json::Value wait_document(const model::JobSpec& spec, const brain::Wait& wait) {
  json::Value out = json::Value::object();
  out.set("message", json::Value::text(wait.message));
  if (wait.position > 0) out.set("position", json::Value::integer(wait.position));
  out.set("reason", json::Value::text(wait.reason));
  if (!wait.remedy.empty()) out.set("remedy", json::Value::text(wait.remedy));
  const auto step = static_cast<std::size_t>(wait.step.value());
  out.set("step", json::Value::text(spec.steps.at(step).name));
  write_blockers(out, wait.blockers);
  return out;
}

std::string ended_explanation(const brain::Job& job) {
  json::Value out = json::Value::object();
  out.set("id", json::Value::text(job.id.str()));
  out.set("status", json::Value::text(std::string(model::to_string(job.status))));
  out.set("waits", json::Value::list());
  return out.dump();
}

// Whatever else it waits for, nothing starts or ends without its node's runner, or the home's disk.
json::Value wait_for_part(const Silence& silence, const std::string& part,
                          const std::string& reason) {
  json::Value out = silence_document(silence);
  out.set("reason", json::Value::text(reason));
  out.set("step", json::Value::text(part));
  return out;
}

// Made while what is known of the job cannot become durable: it tells of nothing else.
std::string disk_explanation(const JobId& job, const Silence& silence) {
  json::Value out = json::Value::object();
  out.set("id", json::Value::text(job.str()));
  out.set("waits", json::Value::list({wait_for_part(silence, "disk", "DiskSilent")}));
  return out.dump();
}

// In the place of what is said of their steps when everything of them has been placed.
void explain_slow_starts(const brain::Job& job, const std::vector<SlowStart>& starts,
                         std::vector<brain::Wait>& waits) {
  std::vector<brain::Wait> slow;
  for (const SlowStart& start : starts) {
    if (start.job != job.id || !may_begin(job.status)) continue;
    std::erase_if(waits, [&](const brain::Wait& wait) {
      return wait.step == start.step && wait.reason == "Running";
    });
    slow.push_back({.step = start.step,
                    .reason = start.reason,
                    .message = start.silence.message,
                    .remedy = start.silence.remedy});
  }
  waits.insert(waits.begin(), slow.begin(), slow.end());
}

Result<std::string> explanation(const LogWriter& writer, const JobId& job, const HomeInfo& home,
                                const std::optional<Silence>& disk_full) {
  json::Value out = json::Value::object();
  out.set("id", json::Value::text(job.str()));
  json::Value::List waits;
  auto found = writer.state().jobs.find(job);
  if (found != writer.state().jobs.end()) {
    out.set("status", json::Value::text(std::string(model::to_string(found->second.status))));
    const bool over = model::is_end(found->second.status);
    if (home.runner_silence && !over) {
      waits.push_back(wait_for_part(*home.runner_silence, "runner", "RunnerSilent"));
    }
    if (disk_full && !over) {
      waits.push_back(wait_for_part(*disk_full, "disk", "DiskFull"));
    }
    std::vector<brain::Wait> of_steps = TRY(writer.brain().explain(job, writer.now()));
    explain_slow_starts(found->second, home.slow_starts, of_steps);
    for (const brain::Wait& wait : of_steps) {
      waits.push_back(wait_document(*found->second.spec, wait));
    }
  }
  out.set("waits", json::Value::list(std::move(waits)));
  return out.dump();
}

}  // namespace

std::vector<Route> ExplainRoute::table() {
  return {route({.path = "/jobs/{id}/explain",
                 .summary = "Why a job is not running",
                 .answer = "Explanation"},
                *this, &ExplainRoute::explain)};
}

Async<http::Reply> ExplainRoute::explain(Ask ask, NoQuery) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  if (!controller_.state().jobs.contains(job)) {  // A finished one waits for nothing.
    Result<std::string> told = co_await controller_.about<std::string>(
        job, [](const brain::Job& known, EventSeq) { return Result(ended_explanation(known)); });
    if (told.ok()) co_return http::Response::json_text(*std::move(told));
  }
  const HomeDisk::State disk = CO_TRY(co_await disk_.look());
  if (disk.silent) co_return http::Response::json_text(disk_explanation(job, *disk.silent));
  co_return http::Response::json_text(
      CO_TRY(co_await controller_.answer<std::string>([this, job, disk](const LogWriter& writer) {
        return explanation(writer, job, host_.info(), disk.full);
      })));
}

}  // namespace runnel::control
