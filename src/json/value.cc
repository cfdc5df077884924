#include "json/value.h"

#include "base/check.h"
#include "json/writer.h"

namespace runnel::json {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Consumes one or more digits.
bool take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count > 0;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == any_of.npos) return false;
  text.remove_prefix(1);
  return true;
}

void write(Writer& writer, const Value& value);

void write_list(Writer& writer, const Value::List& items) {
  writer.begin_list();
  for (const Value& item : items) write(writer, item);
  writer.end_list();
}

void write_object(Writer& writer, const Value::Object& members) {
  writer.begin_object();
  for (const auto& [key, member] : members) {
    writer.key(key);
    write(writer, member);
  }
  writer.end_object();
}

void write(Writer& writer, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull: writer.null(); return;
    case Value::Kind::kBool: writer.boolean(value.as_bool()); return;
    case Value::Kind::kInt: writer.integer(value.as_int()); return;
    case Value::Kind::kDecimal: writer.raw(value.as_text()); return;
    case Value::Kind::kText: writer.text(value.as_text()); return;
    case Value::Kind::kList: write_list(writer, value.as_list()); return;
    case Value::Kind::kObject: write_object(writer, value.as_object()); return;
  }
}

void write_pretty(std::string& out, const Value& value, std::size_t level);

void new_line(std::string& out, std::size_t level) {
  out += '\n';
  out.append(2 * level, ' ');
}

void write_pretty_list(std::string& out, const Value::List& items, std::size_t level) {
  const char* separator = "[";
  for (const Value& item : items) {
    out += separator;
    separator = ",";
    new_line(out, level + 1);
    write_pretty(out, item, level + 1);
  }
  new_line(out, level);
  out += ']';
}

void write_pretty_object(std::string& out, const Value::Object& members, std::size_t level) {
  const char* separator = "{";
  for (const auto& [key, member] : members) {
    out += separator;
    separator = ",";
    new_line(out, level + 1);
    Writer(out).text(key);
    out += ": ";
    write_pretty(out, member, level + 1);
  }
  new_line(out, level);
  out += '}';
}

void write_pretty(std::string& out, const Value& value, std::size_t level) {
  if (value.is_list() && !value.as_list().empty()) {
    write_pretty_list(out, value.as_list(), level);
  } else if (value.is_object() && !value.as_object().empty()) {
    write_pretty_object(out, value.as_object(), level);
  } else {
    Writer writer(out);
    write(writer, value);
  }
}

}  // namespace

bool is_number(std::string_view text) {
  take(text, "-");
  if (take(text, "0")) {
    if (!text.empty() && is_digit(text[0])) return false;
  } else if (!take_digits(text)) {
    return false;
  }
  if (take(text, ".") && !take_digits(text)) return false;
  if (take(text, "eE")) {
    take(text, "+-");
    if (!take_digits(text)) return false;
  }
  return text.empty();
}

Value::Value() = default;
Value::~Value() = default;
Value::Value(State state) : state_(std::move(state)) {}
Value::Value(Value&& other) noexcept : state_(std::exchange(other.state_, std::monostate())) {}

Value::Value(const Value& other) {
  if (other.is_object()) {
    state_ = std::make_unique<Object>(other.as_object());
  } else if (other.is_list()) {
    state_ = other.as_list();
  } else if (other.kind() == Kind::kDecimal) {
    state_ = Decimal{other.as_text()};
  } else if (other.is_text()) {
    state_ = other.as_text();
  } else if (other.is_int()) {
    state_ = other.as_int();
  } else if (other.kind() == Kind::kBool) {
    state_ = other.as_bool();
  }
}

Value& Value::operator=(const Value& other) {
  if (this != &other) *this = Value(other);
  return *this;
}

Value& Value::operator=(Value&& other) noexcept {
  // Through a local: `other` may be a part of what we hold.
  State taken = std::exchange(other.state_, std::monostate());
  state_ = std::move(taken);
  return *this;
}

Value Value::boolean(bool value) { return Value(State(value)); }
Value Value::integer(std::int64_t value) { return Value(State(value)); }
Value Value::text(std::string value) { return Value(State(std::move(value))); }
Value Value::list(List items) { return Value(State(std::move(items))); }

Value Value::object(Object members) {
  return Value(State(std::make_unique<Object>(std::move(members))));
}

Value Value::decimal(std::string text) {
  CHECK(is_number(text), "a decimal is the text of a JSON number");
  return Value(State(Decimal{std::move(text)}));
}

Value::Kind Value::kind() const { return static_cast<Kind>(state_.index()); }

bool Value::as_bool() const {
  CHECK(kind() == Kind::kBool, "as_bool() of another kind of value");
  return std::get<bool>(state_);
}

std::int64_t Value::as_int() const {
  CHECK(kind() == Kind::kInt, "as_int() of another kind of value");
  return std::get<std::int64_t>(state_);
}

const std::string& Value::as_text() const {
  if (const Decimal* decimal = std::get_if<Decimal>(&state_)) return decimal->text;
  CHECK(kind() == Kind::kText, "as_text() of another kind of value");
  return std::get<std::string>(state_);
}

const Value::List& Value::as_list() const {
  CHECK(is_list(), "as_list() of another kind of value");
  return std::get<List>(state_);
}

Value::List& Value::as_list() {
  CHECK(is_list(), "as_list() of another kind of value");
  return std::get<List>(state_);
}

const Value::Object& Value::as_object() const {
  CHECK(is_object(), "as_object() of another kind of value");
  return *std::get<std::unique_ptr<Object>>(state_);
}

Value::Object& Value::as_object() {
  CHECK(is_object(), "as_object() of another kind of value");
  return *std::get<std::unique_ptr<Object>>(state_);
}

const Value* Value::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const auto found = as_object().find(key);
  return found == as_object().end() ? nullptr : &found->second;
}

void Value::set(std::string key, Value value) {
  as_object().insert_or_assign(std::move(key), std::move(value));
}

std::string Value::dump() const {
  std::string out;
  Writer writer(out);
  write(writer, *this);
  return out;
}

std::string Value::dump_pretty() const {
  std::string out;
  write_pretty(out, *this, 0);
  return out;
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_object() && b.is_object()) return a.as_object() == b.as_object();
  return a.state_ == b.state_;
}

std::string_view describe(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kNull: return "null";
    case Value::Kind::kBool: return "true or false";
    case Value::Kind::kInt: return "an integer";
    case Value::Kind::kDecimal: return "a number";
    case Value::Kind::kText: return "text";
    case Value::Kind::kList: return "a list";
    case Value::Kind::kObject: return "an object";
  }
  return "null";
}

}  // namespace runnel::json
