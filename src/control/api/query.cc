#include "control/api/query.h"

#include <charconv>
#include <set>

#include "base/nearest.h"
#include "http/event_stream.h"
#include "json/writer.h"

namespace runnel::control {
namespace {

std::string one_of(const std::vector<std::string_view>& words) {
  CHECK(!words.empty(), "a parameter that can be no word");
  std::string text;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (at > 0) text += at + 1 == words.size() ? " or " : ", ";
    text += words[at];
  }
  return text;
}

json::Value typed(std::string_view type) {
  json::Value schema = json::Value::object();
  schema.set("type", json::Value::text(std::string(type)));
  return schema;
}

}  // namespace

namespace detail {

Error bad_parameter(const std::string& text, const std::string& fault, std::string hint) {
  return Error(Errc::kInvalid, "'" + text + "' " + fault).with_hint(std::move(hint));
}

Result<std::int64_t> parameter_number(const std::string& text, const model::Number& rule) {
  CHECK(rule.min <= rule.max, "a parameter that has no value");
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  if (failure == std::errc() && rest == end && value >= rule.min && value <= rule.max) return value;
  return bad_parameter(
      text,
      "is not a whole number from " + std::to_string(rule.min) + " to " + std::to_string(rule.max),
      "give such a number, or leave the parameter out");
}

Error no_such_word(const std::string& text, const std::vector<std::string_view>& words) {
  const std::string near = nearest(text, words);
  return bad_parameter(text, "is not " + one_of(words),
                       near.empty() ? "write " + one_of(words) + ", or leave the parameter out"
                                    : "did you mean '" + near + "'?");
}

json::Value text_schema() { return typed("string"); }

json::Value number_parameter_schema(const model::Number& rule,
                                    std::optional<std::int64_t> fallback) {
  CHECK(rule.min <= rule.max, "a parameter that has no value");
  json::Value schema = typed("integer");
  if (fallback) schema.set("default", json::Value::integer(*fallback));
  if (rule.max != model::kInteger64Max) schema.set("maximum", json::Value::integer(rule.max));
  schema.set("minimum", json::Value::integer(rule.min));
  return schema;
}

json::Value words_schema(const std::vector<std::string_view>& words) {
  json::Value::List all;
  for (const std::string_view word : words) all.push_back(json::Value::text(std::string(word)));
  json::Value schema = typed("string");
  schema.set("enum", json::Value::list(std::move(all)));
  return schema;
}

}  // namespace detail

Result<Duration> QueryForm<Duration>::read(const std::string& text) {
  constexpr Duration kMost = Duration::hours(24 * 7);
  const Result<Duration> value = parse_duration(text);
  if (value.ok() && *value >= Duration() && *value <= kMost) return *value;
  return detail::bad_parameter(text, "is not a length of time up to a week",
                               "write one such as 30s, or leave the parameter out");
}

void QueryReader::operator()(std::string_view key, Flag& value) {
  const bool mentioned = request_.query_value(key).has_value();
  const std::string text = given(key).value_or(mentioned ? "1" : "0");
  if (text == "1" || text == "true") {
    value = Flag::kOn;
  } else if (text == "0" || text == "false") {
    value = Flag::kOff;
  } else {
    note(key, text,
         detail::bad_parameter(text, "is neither 1 nor 0", "write ?" + std::string(key) + "=1"));
  }
}

std::optional<std::string> QueryReader::given(std::string_view key) {
  CHECK(!key.empty(), "a parameter without a name");
  known_.push_back(key);
  const std::optional<std::string_view> value = request_.query_value(key);
  return value && !value->empty() ? std::optional(std::string(*value)) : std::nullopt;
}

void QueryReader::note(std::string_view key, const std::string& text, Error error) {
  if (error_) return;
  error_ = std::move(error).with_field(std::string(key)).with_value(text);
}

Result<void> QueryReader::finish() const {
  std::set<std::string_view> names;
  for (const auto& [name, value] : request_.query) {
    if (!names.insert(name).second) {
      return Error(Errc::kInvalid, "this parameter stands twice")
          .with_field(name)
          .with_value(value)
          .with_hint("leave one of them out");
    }
    if (!json::is_utf8(value)) {
      // It would be another text when it is read from the log again.
      return Error(Errc::kInvalid, "is not UTF-8 text")
          .with_field(name)
          .with_hint("send it as UTF-8, with its bytes in %XX");
    }
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string near = nearest(name, known_);
    return Error(Errc::kInvalid, "this request has no such parameter")
        .with_field(name)
        .with_value(value)
        .with_hint(near.empty() ? "see /openapi.json for those it has"
                                : "did you mean '" + near + "'?");
  }
  if (error_) return *error_;
  return {};
}

void QueryDescriber::operator()(std::string_view key, const Flag&) {
  put(key, detail::words_schema({"", "0", "1", "false", "true"}));
}

void QueryDescriber::put(std::string_view key, json::Value schema) {
  CHECK(parameters_.empty() || parameters_.back().find("name")->as_text() < key,
        "the fields of a query are not in ascending order, or one has two");
  json::Value parameter = json::Value::object();
  parameter.set("in", json::Value::text("query"));
  parameter.set("name", json::Value::text(std::string(key)));
  parameter.set("required", json::Value::boolean(false));
  parameter.set("schema", std::move(schema));
  parameters_.push_back(std::move(parameter));
}

StreamForm stream_form_of(const http::Request& request) {
  const std::string_view accept = request.headers.find("accept").value_or("");
  return accept.find(http::kEventStreamType) != std::string_view::npos
             ? StreamForm::kServerSentEvents
             : StreamForm::kJsonLines;
}

}  // namespace runnel::control
