#include "control/trial_call.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/units.h"
#include "json/read.h"
#include "json/value.h"

namespace runnel::control {
namespace {

using model::TrialCall;
using model::TrialEnd;

constexpr std::size_t kMessageBytesMax = 4'096;
constexpr std::int64_t kTrainingStepMax = std::int64_t{1} << 53;

Error invalid(std::string field, std::string what, std::string hint) {
  return Error(Errc::kInvalid, std::move(what))
      .with_field(std::move(field))
      .with_hint(std::move(hint));
}

constexpr std::size_t kNumberBytesMax = 64;

// What JSON has no number for: a trial that came to it has failed, and says so by this.
bool is_no_number(std::string_view text) {
  constexpr std::array<std::string_view, 7> kWords = {"nan",  "NaN",      "inf",      "+inf",
                                                      "-inf", "Infinity", "-Infinity"};
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

// A number as it was written, or nan and its kind.
Result<std::string> value_text(const json::Value& value, const std::string& field) {
  if (value.is_int()) return std::to_string(value.as_int());
  const bool number = value.kind() == json::Value::Kind::kDecimal;
  if (number && value.as_text().size() <= kNumberBytesMax) return value.as_text();
  if (value.is_text() && is_no_number(value.as_text())) return value.as_text();
  return Result<std::string>(invalid(field, "is not a number", "write a number, such as 0.25")
                                 .with_value(value.dump().substr(0, kNumberBytesMax)));
}

Result<std::string> read_actor(json::Reader& reader) {
  std::string actor = TRY(reader.text_or("actor", ""));
  if (actor.size() <= model::kNameBytesMax) return actor;
  return Result<std::string>(
      invalid("actor", "is longer than " + std::to_string(model::kNameBytesMax) + " bytes",
              "say who asks"));
}

Result<std::string> named_value(const json::Value& metrics, const model::Objective& objective) {
  if (const json::Value* value = metrics.find(objective.metric)) {
    return value_text(*value, "metrics." + objective.metric);
  }
  std::vector<std::string_view> names;
  for (const auto& [name, value] : metrics.as_object()) names.emplace_back(name);
  const std::string near = nearest(objective.metric, names);
  return invalid("metrics", "lacks '" + objective.metric + "', which the search looks at",
                 near.empty() ? "give it a number" : "did you mean it by '" + near + "'?");
}

// Objectives have no more than eight names, so a body of any size costs little here.
Result<std::vector<std::string>> read_values(json::Reader& reader,
                                             const model::SearchSpec& search) {
  std::vector<std::string> values;
  const json::Value* one = reader.optional("value");
  const json::Value* all = reader.optional("values");
  const json::Value* named = reader.optional("metrics");
  if ((one != nullptr) + (all != nullptr) + (named != nullptr) > 1) {
    return invalid("values", "`value`, `values` and `metrics` say the same thing",
                   "give one of them");
  }
  if (one != nullptr) values.push_back(TRY(value_text(*one, "value")));
  if (all != nullptr) {
    if (!all->is_list()) return invalid("values", "must be a list", "write [0.25]");
    for (const json::Value& value : all->as_list()) {
      if (values.size() > model::kObjectivesMax) break;
      values.push_back(TRY(value_text(value, "values")));
    }
  }
  if (named != nullptr) {
    if (!named->is_object()) return invalid("metrics", "must be an object", "{\"loss\": 0.25}");
    for (const model::Objective& objective : search.objectives) {
      values.push_back(TRY(named_value(*named, objective)));
    }
  }
  return values;
}

Result<AttemptNumber> read_attempt(json::Reader& reader) {
  const std::int64_t attempt = TRY(reader.integer_or("attempt", 0));
  if (attempt >= 0 && attempt <= std::numeric_limits<std::int32_t>::max()) {
    return AttemptNumber(static_cast<std::int32_t>(attempt));
  }
  return invalid("attempt", "is not the number of an attempt", "send back what `ask` answered");
}

Result<std::int64_t> read_training_step(json::Reader& reader) {
  const std::int64_t at = TRY(reader.integer_or("step", 0));
  if (at >= 0 && at <= kTrainingStepMax) return at;
  return Result<std::int64_t>(
      invalid("step", "must be from 0 to 2^53", "count the steps of the training from 0"));
}

Result<TrialEnd> read_state(json::Reader& reader) {
  const std::string word = TRY(reader.text_or("state", "complete"));
  if (word == "complete") return TrialEnd::kComplete;
  if (word == "pruned") return TrialEnd::kPruned;
  if (word == "failed" || word == "fail") return TrialEnd::kFailed;
  return Result<TrialEnd>(Error(Errc::kInvalid, "'" + word + "' is no end of a trial")
                              .with_field("state")
                              .with_value(word)
                              .with_hint("write complete, pruned or failed"));
}

Result<json::Value> parsed(std::string_view body) {
  Result<json::Value> json = json::parse(body.empty() ? "{}" : body);
  if (json.ok()) return json;
  return Error(json.error()).with_hint("send a JSON object, such as {\"value\": 0.25}");
}

}  // namespace

Result<TrialCall> read_ask(std::string_view json_body) {
  const json::Value json = TRY(parsed(json_body));
  json::Reader reader = TRY(json::Reader::of(json, ""));
  TrialCall call;
  call.verb = TrialCall::Verb::kAsk;
  call.actor = TRY(read_actor(reader));
  const std::string lease = TRY(reader.text_or("lease", to_string(model::kLeaseDefault)));
  TRY(reader.finish());
  const Result<Duration> read = parse_duration(lease);
  if (!read.ok()) return Error(read.error()).with_field("lease").with_value(lease);
  if (*read >= model::kLeaseMin && *read <= model::kLeaseMax) {
    call.lease = *read;
    return call;
  }
  return invalid(
             "lease",
             "must be from " + to_string(model::kLeaseMin) + " to " + to_string(model::kLeaseMax),
             "say how long you may be silent, such as 10m")
      .with_value(lease);
}

Result<TrialCall> read_report(std::string_view json_body, const model::SearchSpec& search) {
  const json::Value json = TRY(parsed(json_body));
  json::Reader reader = TRY(json::Reader::of(json, ""));
  TrialCall call;
  call.verb = TrialCall::Verb::kReport;
  call.actor = TRY(read_actor(reader));
  call.attempt = TRY(read_attempt(reader));
  call.at = TRY(read_training_step(reader));
  call.values = TRY(read_values(reader, search));
  TRY(reader.finish());
  return call;
}

Result<TrialCall> read_tell(std::string_view json_body, const model::SearchSpec& search) {
  const json::Value json = TRY(parsed(json_body));
  json::Reader reader = TRY(json::Reader::of(json, ""));
  TrialCall call;
  call.verb = TrialCall::Verb::kTell;
  call.actor = TRY(read_actor(reader));
  call.attempt = TRY(read_attempt(reader));
  call.end = TRY(read_state(reader));
  call.at = TRY(read_training_step(reader));
  call.message = TRY(reader.text_or("message", ""));
  call.values = TRY(read_values(reader, search));
  TRY(reader.finish());
  if (call.message.size() <= kMessageBytesMax) return call;
  return invalid("message", "is longer than " + std::to_string(kMessageBytesMax) + " bytes",
                 "say it shorter");
}

}  // namespace runnel::control
