#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "json/value.h"
#include "model/codec.h"
#include "model/event.h"
#include "model/field_schema.h"
#include "model/fields.h"
#include "model/spec.h"
#include "model/spec_records.h"

// What the bodies of requests can say, and by which names.
namespace runnel::control {

// Values of secrets by their source, "env:NAME".
using SecretPairs = std::vector<std::pair<std::string, std::string>>;

// Without a judgement, which tells every fault of it afterwards.
struct GivenSpec {
  model::JobSpec read;
};
struct SubmissionBody {
  std::string owner;
  SecretPairs secrets;
  GivenSpec spec;
};

struct ActionBody {
  std::string actor;
  SecretPairs secrets;
};

struct TrialAskBody {
  std::string actor;
  std::string lease;  // "60s"; "" is model::kLeaseDefault.
};

// A number as it was written, or nan and its kind, for which JSON has no number.
struct TrialValue {
  std::string text;
};
// Values by name, of which those are read that the search looks at.
struct NamedValues {
  json::Value members;
};
// One of the three, or none.
struct TrialValues {
  std::optional<NamedValues> metrics;
  std::optional<TrialValue> value;
  std::optional<std::vector<TrialValue>> values;  // In the order of the search's objectives.
};

// Without an attempt it is about the trial's last one.
struct TrialReportBody {
  std::string actor;
  AttemptNumber attempt;
  std::int64_t step = 0;  // A step of the training.
  TrialValues values;
};

// "fail" is "failed".
struct TrialState {
  model::TrialEnd end = model::TrialEnd::kComplete;
};
struct TrialTellBody {
  std::string actor;
  AttemptNumber attempt;
  std::string message;
  TrialState state;
  std::int64_t step = 0;
  TrialValues values;
};

// Their JSON; an error says what the value is not.
Result<void> read_form(const json::Value& json, TrialValue& value);
Result<void> read_form(const json::Value& json, NamedValues& values);
Result<void> read_form(const json::Value& json, TrialState& state);
json::Value trial_value_schema();
json::Value named_values_schema();
json::Value trial_state_schema();

inline constexpr model::Number kTrainingStep = {.max = std::int64_t{1} << 53};
inline constexpr model::Number kAttempt = {.max = std::numeric_limits<std::int32_t>::max()};

}  // namespace runnel::control

namespace runnel::model {

template <>
struct Form<control::GivenSpec> {
  static Result<void> read(const json::Value& json, control::GivenSpec& spec) {
    spec.read = TRY(read_job_spec(json, ""));
    return {};
  }
  static json::Value schema() { return schema_of<JobSpec>(); }
};
template <>
struct Form<control::TrialValue> {
  static Result<void> read(const json::Value& json, control::TrialValue& value) {
    return control::read_form(json, value);
  }
  static json::Value schema() { return control::trial_value_schema(); }
};
template <>
struct Form<control::NamedValues> {
  static Result<void> read(const json::Value& json, control::NamedValues& values) {
    return control::read_form(json, values);
  }
  static json::Value schema() { return control::named_values_schema(); }
};
template <>
struct Form<control::TrialState> {
  static Result<void> read(const json::Value& json, control::TrialState& state) {
    return control::read_form(json, state);
  }
  static json::Value schema() { return control::trial_state_schema(); }
};

template <>
struct Fields<control::SubmissionBody> {
  static void visit(auto& visit, auto& body) {
    visit("owner", body.owner);
    visit("secrets", body.secrets, AsObject());
    visit("spec", body.spec, Required());
  }
};
template <>
struct Fields<control::ActionBody> {
  static void visit(auto& visit, auto& body) {
    visit("actor", body.actor);
    visit("secrets", body.secrets, AsObject());
  }
};
template <>
struct Fields<control::TrialAskBody> {
  static void visit(auto& visit, auto& body) {
    visit("actor", body.actor);
    visit("lease", body.lease);
  }
};
template <>
struct Fields<control::TrialReportBody> {
  static void visit(auto& visit, auto& body) {
    visit("actor", body.actor);
    visit("attempt", body.attempt, control::kAttempt);
    visit("metrics", body.values.metrics);
    visit("step", body.step, control::kTrainingStep);
    visit("value", body.values.value);
    visit("values", body.values.values);
  }
};
template <>
struct Fields<control::TrialTellBody> {
  static void visit(auto& visit, auto& body) {
    visit("actor", body.actor);
    visit("attempt", body.attempt, control::kAttempt);
    visit("message", body.message);
    visit("metrics", body.values.metrics);
    visit("state", body.state);
    visit("step", body.step, control::kTrainingStep);
    visit("value", body.values.value);
    visit("values", body.values.values);
  }
};

}  // namespace runnel::model
