#include "control/task_history.h"

#include <algorithm>
#include <variant>

#include "control/device_document.h"
#include "control/exit_code.h"
#include "control/job_document.h"
#include "json/writer.h"

namespace runnel::control {
namespace {

void write_exits(json::Writer& out, const std::vector<model::RankExit>& exits) {
  out.key("exits").begin_list();
  for (const model::RankExit& exit : exits) {
    out.begin_object();
    out.field("exit", std::to_string(exit.code) + ":" + std::to_string(exit.signal));
    out.field("rank", exit.rank);
    out.end_object();
  }
  out.end_list();
}

void write_params(json::Writer& out, std::vector<std::pair<std::string, std::string>> params) {
  if (params.empty()) return;
  std::sort(params.begin(), params.end());
  out.key("params").begin_object();
  for (const auto& [name, value] : params) out.field(name, value);
  out.end_object();
}

void write_nodes(json::Writer& out, const std::vector<model::Place>& places) {
  out.key("nodes").begin_list();
  for (const model::Place& place : places) out.text(place.node.str());
  out.end_list();
}

void write_attempt_warnings(json::Writer& out, const std::vector<model::TaskWarned>& warnings) {
  if (warnings.empty()) return;
  out.key("warnings").begin_list();
  for (const model::TaskWarned& warning : warnings) {
    out.begin_object();
    out.field("action", to_string(warning.action));
    out.field("message", warning.message);
    out.field("rank", warning.rank);
    out.field("reason", to_string(warning.reason));
    write_time(out, "since", warning.since);
    out.end_object();
  }
  out.end_list();
}

std::int32_t first_failing_code(const model::AttemptEnded& end) {
  for (const model::RankExit& exit : end.exits) {
    if (exit.rank == end.first_failed) return exit.signal != 0 ? 128 + exit.signal : exit.code;
  }
  return 0;
}

// The highest code of all ranks, a signal n counting as 128+n.
std::int32_t highest_code(const model::AttemptEnded& end) {
  std::int32_t highest = 0;
  for (const model::RankExit& exit : end.exits) {
    highest = std::max(highest, exit.signal != 0 ? 128 + exit.signal : exit.code);
  }
  return highest;
}

}  // namespace

TaskHistory::Attempt* TaskHistory::find(const model::AttemptRef& attempt) {
  if (attempt.task != task_) return nullptr;
  for (Attempt& known : attempts_) {
    if (known.number == attempt.attempt) return &known;
  }
  return nullptr;
}

void TaskHistory::bind(const model::LaneExtended& event, Time at) {
  if (event.job != task_.job || event.step != task_.step) return;
  for (const model::LaneTask& bound : event.tasks) {
    if (bound.index == task_.index) begin(event, bound, at);
  }
}

void TaskHistory::begin(const model::LaneExtended& event, const model::LaneTask& bound, Time at) {
  CHECK(bound.attempt.value() > 0, "attempts count from one");
  Attempt attempt;
  attempt.number = bound.attempt;
  attempt.lane = event.lane;
  attempt.bound_at = at;
  attempt.places = lanes_[event.lane];
  attempt.params = bound.params;
  attempts_.push_back(std::move(attempt));
  if (attempts_.size() <= kAttemptsShownMax) return;
  attempts_.erase(attempts_.begin());
  ++dropped_;
}

void TaskHistory::add(const model::Event& event, Time at) {
  if (const auto* opened = std::get_if<model::LaneOpened>(&event)) {
    if (opened->job != task_.job || opened->step != task_.step) return;
    lanes_[opened->lane] = model::places_of(opened->holding);
  } else if (const auto* closed = std::get_if<model::LaneClosed>(&event)) {
    lanes_.erase(closed->lane);
  } else if (const auto* extended = std::get_if<model::LaneExtended>(&event)) {
    bind(*extended, at);
  } else if (const auto* running = std::get_if<model::AttemptRunning>(&event)) {
    if (Attempt* known = find(running->attempt)) known->started_at = running->started_at;
  } else if (const auto* rank = std::get_if<model::RankEnded>(&event)) {
    Attempt* known = find(rank->attempt);
    const bool failed = rank->code != 0 || rank->signal != 0;
    if (known != nullptr && failed) known->exits.push_back({rank->rank, rank->code, rank->signal});
  } else if (const auto* warned = std::get_if<model::TaskWarned>(&event)) {
    if (Attempt* known = find(warned->attempt)) known->warnings.push_back(*warned);
  } else if (const auto* stopping = std::get_if<model::AttemptStopping>(&event)) {
    if (Attempt* known = find(stopping->attempt)) known->stopping = stopping->because;
  } else if (const auto* ended = std::get_if<model::AttemptEnded>(&event)) {
    if (Attempt* known = find(ended->attempt)) known->end = *ended;
  }
}

std::string TaskHistory::document() const {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("attempts").begin_list();
  for (const Attempt& attempt : attempts_) {
    const auto& end = attempt.end;
    out.begin_object();
    out.field("attempt", attempt.number.value());
    out.field("bound_at", rfc3339(attempt.bound_at));
    write_devices(out, attempt.places);
    if (end) write_time(out, "ended_at", end->ended_at);
    if (end) out.field("exit_code", exit_code_of(end->to, first_failing_code(*end)));
    write_exits(out, end ? end->exits : attempt.exits);
    if (end && end->fault != model::Fault::kNone) out.field("fault", to_string(end->fault));
    if (end && end->first_failed >= 0) out.field("first_failed_rank", end->first_failed);
    if (end) out.field("highest_code", highest_code(*end));
    out.field("lane", attempt.lane.value());
    if (end && !end->message.empty()) out.field("message", end->message);
    write_nodes(out, attempt.places);
    write_params(out, attempt.params);
    if (end && !end->reason.empty()) out.field("reason", end->reason);
    write_time(out, "started_at", end ? end->started_at : attempt.started_at);
    const model::Status running =
        attempt.started_at == Time() ? model::Status::kStarting : model::Status::kRunning;
    out.field("status", to_string(end ? end->to : running));
    if (!end && attempt.stopping) out.field("stopping", to_string(*attempt.stopping));
    write_attempt_warnings(out, attempt.warnings);
    out.end_object();
  }
  out.end_list();
  if (dropped_ > 0) out.field("dropped", dropped_);
  out.end_object();
  return text;
}

}  // namespace runnel::control
