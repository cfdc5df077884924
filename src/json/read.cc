#include "json/read.h"

#include <algorithm>

#include "base/nearest.h"

namespace runnel::json {
namespace {

constexpr std::size_t kShownValueMax = 60;

// The author's text, short enough for one line.
std::string shown(const Value& value) {
  std::string text = value.is_text() ? value.as_text() : value.dump();
  if (text.size() <= kShownValueMax) return text;
  std::size_t end = kShownValueMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

Error wrong_kind(std::string path, const Value& value, Value::Kind wanted) {
  Error error(Errc::kInvalid, "this must be " + std::string(describe(wanted)) + ", not " +
                                  std::string(describe(value.kind())));
  return error.with_field(std::move(path)).with_value(shown(value));
}

Error missing(std::string path, Value::Kind wanted) {
  Error error(Errc::kInvalid, "this field is missing; it is " + std::string(describe(wanted)));
  return error.with_field(std::move(path));
}

}  // namespace

Reader::Reader(const Value& value, std::string path) : value_(&value), path_(std::move(path)) {}

Result<Reader> Reader::of(const Value& value, std::string path) {
  if (!value.is_object()) return wrong_kind(std::move(path), value, Value::Kind::kObject);
  return Reader(value, std::move(path));
}

std::string Reader::path_of(std::string_view key) const {
  if (path_.empty()) return std::string(key);
  std::string path = path_;
  return path.append(1, '.').append(key);
}

const Value* Reader::optional(std::string_view key) {
  asked_.emplace_back(key);
  const Value* found = value_->find(key);
  return found != nullptr && found->is_null() ? nullptr : found;
}

Result<const Value*> Reader::required(std::string_view key, Value::Kind kind) {
  const Value* found = TRY(optional_of(key, kind));
  if (found == nullptr) return missing(path_of(key), kind);
  return found;
}

Result<const Value*> Reader::optional_of(std::string_view key, Value::Kind kind) {
  const Value* found = optional(key);
  if (found != nullptr && found->kind() != kind) return wrong_kind(path_of(key), *found, kind);
  return found;
}

Result<std::int64_t> Reader::integer(std::string_view key) {
  return TRY(required(key, Value::Kind::kInt))->as_int();
}

Result<std::int64_t> Reader::integer_or(std::string_view key, std::int64_t fallback) {
  const Value* found = TRY(optional_of(key, Value::Kind::kInt));
  return found == nullptr ? fallback : found->as_int();
}

Result<std::string> Reader::text(std::string_view key) {
  return TRY(required(key, Value::Kind::kText))->as_text();
}

Result<std::string> Reader::text_or(std::string_view key, std::string fallback) {
  const Value* found = TRY(optional_of(key, Value::Kind::kText));
  if (found == nullptr) return fallback;
  return found->as_text();
}

Result<bool> Reader::boolean_or(std::string_view key, bool fallback) {
  const Value* found = TRY(optional_of(key, Value::Kind::kBool));
  return found == nullptr ? fallback : found->as_bool();
}

Result<const Value*> Reader::list(std::string_view key) {
  return required(key, Value::Kind::kList);
}

Result<const Value*> Reader::object(std::string_view key) {
  return required(key, Value::Kind::kObject);
}

Error Reader::unknown(const std::string& key) const {
  const std::vector<std::string_view> known(asked_.begin(), asked_.end());
  Error error(Errc::kInvalid, "there is no such field");
  error.with_field(path_of(key)).with_value(key);
  const std::string meant = nearest(key, known);
  if (!meant.empty()) return error.with_hint("did you mean '" + meant + "'?");
  std::string names;
  for (const std::string_view name : known) names.append(names.empty() ? "" : ", ").append(name);
  if (names.empty()) return error.with_hint("this object takes no fields");
  return error.with_hint("known fields are " + names);
}

Result<void> Reader::finish() const {
  for (const auto& [key, member] : value_->as_object()) {
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) return unknown(key);
  }
  return {};
}

}  // namespace runnel::json
