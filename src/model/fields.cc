#include "model/fields.h"

namespace runnel::model {
namespace detail {

Result<void> expect_kind(const json::Value& json, json::Value::Kind kind) {
  if (json.kind() == kind) return {};
  return Error(Errc::kInvalid, "this must be " + std::string(json::describe(kind)) + ", not " +
                                   std::string(json::describe(json.kind())));
}

Result<std::int64_t> read_number(const json::Value& json, const Number& rule) {
  TRY(expect_kind(json, json::Value::Kind::kInt));
  const std::int64_t value = json.as_int();
  if (value >= rule.min && value <= rule.max) return value;
  Error error(Errc::kInvalid, value < rule.min
                                  ? "this must be at least " + std::to_string(rule.min)
                                  : "this must be at most " + std::to_string(rule.max));
  return error.with_value(std::to_string(value));
}

void check_number(std::int64_t value, const Number& rule) {
  CHECK(value >= rule.min, "a number to be stored is below its least");
  CHECK(value <= rule.max, "a number to be stored is above its most");
}

Error missing_field() { return Error(Errc::kInvalid, "this field is missing"); }

Error inside(std::string_view key, Error error) {
  if (key.empty()) return error;
  const bool joined = error.field.empty() || error.field.front() == '[';
  return error.with_field(std::string(key) + (joined ? "" : ".") + error.field);
}

Error inside_item(std::size_t index, Error error) {
  return inside("[" + std::to_string(index) + "]", std::move(error));
}

}  // namespace detail

void Encoder::operator()(std::string_view key, const std::map<std::string, std::int64_t>& counts,
                         const Number& rule) {
  const auto is_some = [](const auto& entry) { return entry.second != 0; };
  if (std::none_of(counts.begin(), counts.end(), is_some)) return;
  out_.key(key).begin_object();
  for (const auto& [name, count] : counts) {
    if (count == 0) continue;
    detail::check_number(count, rule);
    out_.key(name).integer(count);
  }
  out_.end_object();
}

void Decoder::operator()(std::string_view key, std::map<std::string, std::int64_t>& counts,
                         const Number& rule) {
  const json::Value* json = find(key);
  counts.clear();
  if (json == nullptr) return;
  note(key, detail::expect_kind(*json, json::Value::Kind::kObject));
  if (error_) return;
  for (const auto& [name, count] : json->as_object()) {
    Result<void> done = detail::read_integer(count, rule, counts[name]);
    if (!done.ok()) return note(key, detail::inside(name, std::move(done).error()));
  }
}

Result<void> Decoder::finish() {
  if (error_) return *std::move(error_);
  return reader_.finish();
}

void Decoder::note(std::string_view key, Result<void> done) {
  CHECK(!key.empty(), "a field without a name");
  if (error_ || done.ok()) return;
  error_ = detail::inside(key, std::move(done).error());
}

}  // namespace runnel::model
