#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace runnel::json {

// A JSON value of the kinds Runnel's own documents use: null, bool, integer, text, list, object.
//
// Contract: a fractional number is kept as `kDecimal`, its text as written, so that no value
//           changes by being read and written. A value moved from is null. Accessors CHECK the
//           kind; use json::Reader for documents from outside. Objects keep
//           their keys sorted: dump() is canonical.
// Threads:  a value type.
// Why:      hides Boost.JSON, which parses, and keeps floats out of events (law 1).
class Value {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kDecimal, kText, kList, kObject };
  using List = std::vector<Value>;
  using Object = std::map<std::string, Value, std::less<>>;

  Value();  // null
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value decimal(std::string text);  // CHECKs that the text is a JSON number.
  static Value text(std::string value);
  static Value list(List items = {});
  static Value object(Object members = {});

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_text() const { return kind() == Kind::kText; }
  bool is_int() const { return kind() == Kind::kInt; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_object() const { return kind() == Kind::kObject; }

  bool as_bool() const;
  std::int64_t as_int() const;
  const std::string& as_text() const;  // Also the text of a decimal.
  const List& as_list() const;
  List& as_list();
  const Object& as_object() const;
  Object& as_object();

  // The member named `key`, or null when this is not an object or has none.
  const Value* find(std::string_view key) const;
  // Adds or replaces; CHECKs that this is an object.
  void set(std::string key, Value value);

  // Canonical text: sorted keys, no spaces, shortest escapes.
  std::string dump() const;
  // Two spaces per level, for people.
  std::string dump_pretty() const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  struct Decimal {
    std::string text;
    friend bool operator==(const Decimal&, const Decimal&) = default;
  };
  // In the order of Kind. The map is boxed: it alone would double the size of every value.
  using State = std::variant<std::monostate, bool, std::int64_t, Decimal, std::string, List,
                             std::unique_ptr<Object>>;

  explicit Value(State state);

  State state_;
};

// Whether the text is a number as JSON writes it (RFC 8259, section 6).
bool is_number(std::string_view text);

// The word for a kind in messages: "an integer", "text".
std::string_view describe(Value::Kind kind);

struct ParseLimits {
  std::size_t bytes_max = std::size_t{64} << 20;
  int depth_max = 64;
};

// Reads one JSON document (RFC 8259). Duplicate keys, integers beyond 64 bits, trailing text,
// invalid UTF-8, too deep and too large are errors whose place is in `where.line/column`; never
// throws.
Result<Value> parse(std::string_view text, const ParseLimits& limits = {});

}  // namespace runnel::json
