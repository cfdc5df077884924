#include "control/api/schemas.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "control/bodies.h"
#include "model/field_schema.h"
#include "model/spec_records.h"

namespace runnel::control {
namespace {

using json::Value;

// A member with "?" may be missing. Types are those of JSON Schema, several with "|"; "time" is
// text as RFC 3339 has it; "#Name" another shape; [x] a list of x; "*" members of any other name.
constexpr std::string_view kShapes = R"json({
  "Asked": {"attempt?": "integer", "best?": "boolean", "finished?": "boolean", "id?": "string",
            "moves?": ["#Move"], "params?": {"*": "number|string"}, "reason?": "string",
            "reports?": ["#Report"], "running?": "integer", "status?": "string", "step?": "string",
            "stop?": "boolean", "trial": "integer|null", "values?": "#Values",
            "waiting?": "integer"},
  "Attempt": {"attempt": "integer", "bound_at": "time", "devices?": "#PlacedDevices",
              "ended_at?": "time", "exit_code?": "integer",
              "exits?": [{"exit": "string", "rank": "integer"}], "fault?": "string",
              "first_failed_rank?": "integer", "highest_code?": "integer", "lane": "integer",
              "message?": "string", "nodes": ["string"], "params?": {"*": "string"},
              "reason?": "string", "started_at?": "time", "status": "string", "stopping?": "string",
              "warnings?": ["any"]},
  "Cost": {"as_of?": "time", "list": "number", "list_per_hour": "number", "spent": "number",
           "spent_per_hour": "number"},
  "Counts": {"*": "integer"},
  "Deleted": {"deleted": "boolean", "id": "string"},
  "Devices": {"*": ["integer"]},
  "Event": {"*": "any", "seq": "integer", "time": "time", "type": "string"},
  "EventPage": {"events": ["#Event"], "through": "integer"},
  "Explanation": {"id": "string", "status?": "string",
                  "waits": [{"blockers?": ["string"], "message": "string", "position?": "integer",
                             "reason": "string", "remedy?": "string", "step": "string"}]},
  "Failure": {"exit_code": "integer", "reason?": "string", "step": "string", "task": "integer"},
  "Health": {"status": "string"},
  "Home": {"daemon_pid": "integer", "disk_full?": "#Silence", "disk_silence?": "#Silence",
           "epoch": "integer", "home": "string", "last_event": "integer",
           "nodes_problem?": "#Silence", "notices": ["string"],
           "runner_pid": "integer|null", "runner_silence?": "#Silence",
           "slow_starts": [{"job": "string", "message": "string", "remedy": "string",
                            "step": "string"}],
           "socket": "string", "unfinished": "boolean", "version": "string"},
  "Importance": {"importance": [{"name": "string", "share": "number"}]},
  "Job": {"cost?": "#Cost", "counts?": "#Counts", "ended_at?": "time", "exit_code?": "integer",
          "first_event?": "integer", "first_failure?": "#Failure", "id": "string",
          "message?": "string", "name?": "string", "owner?": "string", "priority?": "integer",
          "progress?": "#Progress", "project?": "string", "queue?": "string", "reason?": "string",
          "resource_version": "integer", "spec?": "#JobSpec", "started_at?": "time",
          "status?": "string", "steps?": ["#Step"], "submitted_at?": "time", "tasks?": "integer",
          "workdir?": "string"},
  "JobPage": {"jobs": ["#Job"], "next_page_token?": "string"},
  "LogLine": {"attempt?": "integer", "bytes?": "string", "cursor?": "string", "damage?": "string",
              "job": "string", "level?": "string", "msg?": "string", "rank?": "integer",
              "step?": "string", "stream?": "string", "task?": "integer", "ts?": "time"},
  "MetricPage": {"next_page_token?": "string",
                 "series": [{"bad_lines": "integer", "bad_records": "integer",
                             "samples": [{"rank?": "integer", "step": "integer",
                                          "values": "#Values"}],
                             "step": "string", "task": "integer", "truncated": "boolean"}]},
  "Move": {"from": "integer", "step": "integer"},
  "Node": {"address": "string", "capacity": "#Resources", "devices?": "#NodeDevices", "draining?": "boolean",
           "id": "string", "incarnation": "string", "instance?": "string", "lanes": "integer", "leaves_at?": "time", "pool": "string",
           "price?": "number", "reason?": "string", "spot": "boolean", "spot_price?": "number",
           "up": "boolean", "used": "#Resources", "withholds_devices?": "boolean"},
  "NodeDevices": {"free": {"*": "integer"},
                  "held": [{"devices": "#Devices", "job": "string", "lane": "integer",
                            "step": "string", "task?": "integer"}],
                  "quarantined?": [{"again_at?": "time", "index": "integer", "kind": "string",
                                    "reason": "string", "since": "time"}],
                  "strangers?": [{"attempt": "integer", "job": "string", "rank": "integer",
                                  "step": "string", "task": "integer"}]},
  "NodeList": {"nodes": ["#Node"], "nodes_problem?": "#Silence", "runner_silence?": "#Silence"},
  "OpenApi": {"components": "any", "info": {"title": "string", "version": "string"},
              "openapi": "string", "paths": "any"},
  "PlacedDevices": {"*": "#Devices"},
  "Preemption": {"away_ms": "integer", "node": "string", "notice_ms": "integer"},
  "Fault": {"code": "string", "column?": "integer", "detail": "string", "field?": "string",
            "file?": "string", "hint?": "string", "line?": "integer", "value?": "string"},
  "Problem": {"code": "string", "column?": "integer", "detail": "string", "faults?": ["#Fault"],
              "field?": "string",
              "file?": "string", "hint?": "string", "line?": "integer", "status": "integer",
              "title": "string", "type": "string", "value?": "string"},
  "Progress": {"eta_seconds?": "integer", "share": "number",
               "steps": [{"eta_seconds?": "integer",
                          "live": [{"metrics": "#Values", "step": "integer", "task": "integer"}],
                          "name": "string", "share": "number"}]},
  "Report": {"step": "integer", "values": "#Values"},
  "Resources": {"accelerators": {"*": "integer"}, "memory": "integer", "milli_cpus": "integer"},
  "Search": {"asked": "integer",
             "best?": {"params": {"*": "string"}, "step": "integer", "trial": "integer",
                       "values": "#Values"},
             "best_so_far?": {"params": {"*": "string"}, "status": "string", "step": "integer",
                              "trial": "integer", "values": "#Values"},
             "objectives": [{"metric": "string", "mode": "string"}], "parked": "integer"},
  "Silence": {"message": "string", "remedy": "string"},
  "Step": {"command?": "string", "cost?": "#Cost", "counts": "#Counts", "depends_on?": ["string"], "ended_at?": "time",
           "lanes": "integer", "name": "string",
           "published?": [{"name": "string", "version": "string", "volume": "string"}],
           "ranks": "integer", "reason?": "string",
           "recent_ms?": "integer", "search?": "#Search", "started_at?": "time", "status": "string",
           "tasks": "integer", "warned?": "integer", "warnings?": ["any"]},
  "Stopping": {"stopping": "boolean"},
  "Task": {"attempts": "integer", "devices?": "#PlacedDevices", "exit_code?": "integer", "index": "integer", "lane?": "integer",
           "not_before?": "time", "params?": {"*": "string"}, "reason?": "string",
           "report?": "#Report", "started_at?": "time", "status": "string", "step": "string",
           "stopping?": "string"},
  "TaskHistory": {"attempts": ["#Attempt"], "dropped?": "integer", "task": "#Task"},
  "TaskPage": {"next_page_token?": "string", "tasks": ["#Task"]},
  "Trial": {"attempt": "integer", "best?": "boolean", "id": "string", "moves?": ["#Move"],
            "params": {"*": "number|string"}, "reason?": "string", "reports?": ["#Report"],
            "status": "string", "step": "string", "stop?": "boolean", "trial": "integer",
            "value_step?": "integer", "values?": "#Values"},
  "TrialPage": {"next_page_token?": "string", "trials": ["#Trial"]},
  "Usage": {"tasks": [{"attempt": "integer", "cpus": "number|null",
                       "devices?": "#PlacedDevices", "gpu": "number|null",
                       "gpu_memory": "integer|null", "memory": "integer|null", "nodes": ["string"],
                       "processes": "integer", "status": "string", "step": "string",
                       "task": "integer"}]},
  "Values": {"*": "number|string"},
  "Version": {"api": "string", "version": "string"}
})json";

Value with(std::string_view key, Value value) {
  Value schema = Value::object();
  schema.set(std::string(key), std::move(value));
  return schema;
}

// "integer|null" as a list of types.
Value types_of(std::string_view words) {
  Value::List types;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find('|'));
    types.push_back(Value::text(std::string(word)));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return types.size() == 1 ? types.front() : Value::list(std::move(types));
}

Value schema_of_word(const std::string& word) {
  if (word == "any") return Value::object();
  if (word.starts_with('#')) {
    return with("$ref", Value::text("#/components/schemas/" + word.substr(1)));
  }
  if (word != "time") return with("type", types_of(word));
  Value schema = with("type", Value::text("string"));
  schema.set("format", Value::text("date-time"));
  return schema;
}

Value expanded(const Value& shape);

Value record_schema(const Value& shape) {
  Value schema = with("type", Value::text("object"));
  Value properties = Value::object();
  Value::List required;
  for (const auto& [key, member] : shape.as_object()) {
    if (key == "*") {
      schema.set("additionalProperties", expanded(member));
      continue;
    }
    const bool optional = key.ends_with('?');
    const std::string name = optional ? key.substr(0, key.size() - 1) : key;
    properties.set(name, expanded(member));
    if (!optional) required.push_back(Value::text(name));
  }
  if (!properties.as_object().empty()) schema.set("properties", std::move(properties));
  if (!required.empty()) schema.set("required", Value::list(std::move(required)));
  return schema;
}

Value expanded(const Value& shape) {
  if (shape.is_text()) return schema_of_word(shape.as_text());
  if (shape.is_list()) {
    CHECK(shape.as_list().size() == 1, "a list has one kind of items");
    Value schema = with("type", Value::text("array"));
    schema.set("items", expanded(shape.as_list().front()));
    return schema;
  }
  return record_schema(shape);
}

}  // namespace

Value api_schemas() {
  Value schemas = Value::object();
  const Value shapes = MUST(json::parse(kShapes));
  for (const auto& [name, shape] : shapes.as_object()) schemas.set(name, expanded(shape));
  schemas.set("Call", model::schema_of<ActionBody>());
  schemas.set("JobSpec", model::schema_of<model::JobSpec>());
  schemas.set("Submission", model::schema_of<SubmissionBody>());
  schemas.set("TrialAsk", model::schema_of<TrialAskBody>());
  schemas.set("TrialReport", model::schema_of<TrialReportBody>());
  schemas.set("TrialTell", model::schema_of<TrialTellBody>());
  return schemas;
}

}  // namespace runnel::control
