#include "control/bodies.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace runnel::control {
namespace {

constexpr std::size_t kNumberBytesMax = 64;

// A trial that came to what JSON has no number for has failed, and says so by this.
bool is_no_number(std::string_view text) {
  constexpr std::array<std::string_view, 7> kWords = {"nan",  "NaN",      "inf",      "+inf",
                                                      "-inf", "Infinity", "-Infinity"};
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

json::Value schema_of_types(std::initializer_list<const char*> types) {
  CHECK(types.size() > 0, "a value of no type");
  json::Value::List words;
  for (const char* type : types) words.push_back(json::Value::text(type));
  json::Value schema = json::Value::object();
  schema.set("type", json::Value::list(std::move(words)));
  return schema;
}

}  // namespace

Result<void> read_form(const json::Value& json, TrialValue& value) {
  const bool decimal = json.kind() == json::Value::Kind::kDecimal;
  if (json.is_int()) {
    value.text = std::to_string(json.as_int());
  } else if ((decimal && json.as_text().size() <= kNumberBytesMax) ||
             (json.is_text() && is_no_number(json.as_text()))) {
    value.text = json.as_text();
  } else {
    return Error(Errc::kInvalid, "is not a number")
        .with_value(json.dump().substr(0, kNumberBytesMax))
        .with_hint("write a number, such as 0.25");
  }
  return {};
}

json::Value trial_value_schema() { return schema_of_types({"number", "string"}); }

Result<void> read_form(const json::Value& json, NamedValues& values) {
  if (!json.is_object()) {
    return Error(Errc::kInvalid, "must be an object").with_hint("{\"loss\": 0.25}");
  }
  values.members = json;
  return {};
}

json::Value named_values_schema() {
  json::Value schema = schema_of_types({"object"});
  schema.set("additionalProperties", json::Value::object());
  return schema;
}

Result<void> read_form(const json::Value& json, TrialState& state) {
  if (json.is_text()) {
    const std::string& word = json.as_text();
    const Result<model::TrialEnd> end = model::parse_trial_end(word == "fail" ? "failed" : word);
    if (end.ok()) {
      state.end = *end;
      return {};
    }
  }
  const std::string word = json.is_text() ? json.as_text() : json.dump();
  return Error(Errc::kInvalid, "'" + word.substr(0, kNumberBytesMax) + "' is no end of a trial")
      .with_value(word.substr(0, kNumberBytesMax))
      .with_hint("write complete, pruned or failed");
}

json::Value trial_state_schema() {
  json::Value::List words;
  for (const std::string_view word : model::kTrialEndWords) {
    words.push_back(json::Value::text(std::string(word)));
  }
  words.push_back(json::Value::text("fail"));
  json::Value schema = schema_of_types({"string"});
  schema.set("enum", json::Value::list(std::move(words)));
  return schema;
}

}  // namespace runnel::control
