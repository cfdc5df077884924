#include "control/trial_call.h"

#include <string>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/units.h"
#include "control/bodies.h"
#include "json/value.h"

namespace runnel::control {
namespace {

using model::TrialCall;

constexpr std::size_t kMessageBytesMax = 4'096;

Error invalid(std::string field, std::string what, std::string hint) {
  return Error(Errc::kInvalid, std::move(what))
      .with_field(std::move(field))
      .with_hint(std::move(hint));
}

Result<void> check_length(std::string_view field, const std::string& text, std::size_t bytes_max,
                          std::string hint) {
  if (text.size() <= bytes_max) return {};
  return invalid(std::string(field), "is longer than " + std::to_string(bytes_max) + " bytes",
                 std::move(hint));
}

Result<void> check_actor(const std::string& actor) {
  return check_length("actor", actor, model::kNameBytesMax, "say who asks");
}

Result<std::string> named_value(const json::Value& metrics, const model::Objective& objective) {
  if (const json::Value* value = metrics.find(objective.metric)) {
    TrialValue read;
    Result<void> done = model::Form<TrialValue>::read(*value, read);
    if (done.ok()) return std::move(read.text);
    return std::move(done).error().with_field("metrics." + objective.metric);
  }
  std::vector<std::string_view> names;
  for (const auto& [name, value] : metrics.as_object()) names.emplace_back(name);
  const std::string near = nearest(objective.metric, names);
  return invalid("metrics", "lacks '" + objective.metric + "', which the search looks at",
                 near.empty() ? "give it a number" : "did you mean it by '" + near + "'?");
}

Result<std::vector<std::string>> texts_of(const TrialValues& given,
                                          const model::SearchSpec& search) {
  if (int(given.value.has_value()) + int(given.values.has_value()) +
          int(given.metrics.has_value()) >
      1) {
    return invalid("values", "`value`, `values` and `metrics` say the same thing",
                   "give one of them");
  }
  std::vector<std::string> texts;
  if (given.value) texts.push_back(given.value->text);
  if (given.values) {
    for (const TrialValue& value : *given.values) {
      if (texts.size() > model::kObjectivesMax) break;  // One too many is enough to be refused.
      texts.push_back(value.text);
    }
  }
  if (given.metrics) {
    for (const model::Objective& objective : search.objectives) {
      texts.push_back(TRY(named_value(given.metrics->members, objective)));
    }
  }
  return texts;
}

Result<json::Value> parsed(std::string_view body) {
  Result<json::Value> json = json::parse(body.empty() ? "{}" : body);
  if (json.ok()) return json;
  return Error(json.error()).with_hint("send a JSON object, such as {\"value\": 0.25}");
}

}  // namespace

Result<TrialCall> read_ask(std::string_view json_body) {
  const auto body = TRY(model::read_record<TrialAskBody>(TRY(parsed(json_body))));
  TRY(check_actor(body.actor));
  TrialCall call;
  call.verb = TrialCall::Verb::kAsk;
  call.lease = model::kLeaseDefault;
  if (body.lease.empty()) return call;
  const Result<Duration> read = parse_duration(body.lease);
  if (!read.ok()) return Error(read.error()).with_field("lease").with_value(body.lease);
  call.lease = *read;
  if (*read >= model::kLeaseMin && *read <= model::kLeaseMax) return call;
  return invalid(
             "lease",
             "must be from " + to_string(model::kLeaseMin) + " to " + to_string(model::kLeaseMax),
             "say how long you may be silent, such as 10m")
      .with_value(body.lease);
}

Result<TrialCall> read_report(std::string_view json_body, const model::SearchSpec& search) {
  const auto body = TRY(model::read_record<TrialReportBody>(TRY(parsed(json_body))));
  TRY(check_actor(body.actor));
  TrialCall call;
  call.verb = TrialCall::Verb::kReport;
  call.attempt = body.attempt;
  call.at = body.step;
  call.values = TRY(texts_of(body.values, search));
  return call;
}

Result<TrialCall> read_tell(std::string_view json_body, const model::SearchSpec& search) {
  const auto body = TRY(model::read_record<TrialTellBody>(TRY(parsed(json_body))));
  TRY(check_actor(body.actor));
  TRY(check_length("message", body.message, kMessageBytesMax, "say it shorter"));
  TrialCall call;
  call.verb = TrialCall::Verb::kTell;
  call.attempt = body.attempt;
  call.end = body.state.end;
  call.at = body.step;
  call.message = body.message;
  call.values = TRY(texts_of(body.values, search));
  return call;
}

}  // namespace runnel::control
