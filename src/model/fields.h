#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "json/read.h"
#include "json/value.h"
#include "json/writer.h"

namespace runnel::model {

// One list of fields per struct, from which both directions of its JSON follow. Specialise
//
//   template <> struct Fields<Place> {
//     static void visit(auto& visit, auto& place) {
//       visit("node", place.node, Required());
//       visit("ranks", place.ranks, Number{.fallback = 1});
//     }
//   };
//
// with the keys in ascending byte order (the writer checks it). A field that holds its default is
// left out. Defaults are part of the stored format: they stand in the list as literals and stay
// what they are when a default in a header changes. A `static Result<void> check(const Place&)` is
// optional and is asked after reading.
// Why: two hand-written directions drift apart, and the second one is noticed when a log is
// replayed.
template <typename T>
struct Fields;

// How the JSON of a type without fields looks: `write(out, value)`, `read(json, value)`, and
// `schema()` where its schema does not follow from the type.
template <typename T>
struct Form;

constexpr std::int64_t kInteger64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInteger64Min = std::numeric_limits<std::int64_t>::min();

// The limits of an integer, and the value that is left out.
struct Number {
  std::int64_t min = 0;
  std::int64_t max = kInteger64Max;
  std::int64_t fallback = 0;
};
constexpr Number kAnyNumber = {.min = kInteger64Min};

// The text that is left out.
struct Text {
  std::string_view fallback;
};

// Money, stored as a whole number of millionths of a dollar.
struct InMillionths {
  Money max;
};

// Written always, and an error when it is missing.
struct Required {};

// Pairs, ascending by their first, as an object.
struct AsObject {};

namespace detail {

Result<void> expect_kind(const json::Value& json, json::Value::Kind kind);
Result<std::int64_t> read_number(const json::Value& json, const Number& rule);
void check_number(std::int64_t value, const Number& rule);
Error missing_field();
// An error of something inside `key` (or "[3]"), told from outside.
Error inside(std::string_view key, Error error);
Error inside_item(std::size_t index, Error error);

// Integers with a meaning, as what they count.
template <typename T>
struct Integer;

template <std::integral T>
  requires(!std::same_as<T, bool>)
struct Integer<T> {
  static constexpr std::int64_t kMax = std::numeric_limits<T>::max();
  static constexpr std::int64_t kMin = std::numeric_limits<T>::min();
  static std::int64_t to(T value) { return value; }
  static T from(std::int64_t value) { return static_cast<T>(value); }
};

template <typename Tag, typename Int>
struct Integer<NamedInt<Tag, Int>> {
  static constexpr std::int64_t kMax = Integer<Int>::kMax;
  static constexpr std::int64_t kMin = Integer<Int>::kMin;
  static std::int64_t to(NamedInt<Tag, Int> value) { return value.value(); }
  static NamedInt<Tag, Int> from(std::int64_t value) {
    return NamedInt<Tag, Int>(static_cast<Int>(value));
  }
};

struct Integer64 {
  static constexpr std::int64_t kMax = kInteger64Max;
  static constexpr std::int64_t kMin = kInteger64Min;
};

template <>
struct Integer<Duration> : Integer64 {
  static std::int64_t to(Duration value) { return value.millis(); }
  static Duration from(std::int64_t value) { return Duration::millis(value); }
};

template <>
struct Integer<Time> : Integer64 {
  static std::int64_t to(Time value) { return value.millis(); }
  static Time from(std::int64_t value) { return Time::from_millis(value); }
};

template <>
struct Integer<Bytes> : Integer64 {
  static std::int64_t to(Bytes value) { return value.count(); }
  static Bytes from(std::int64_t value) { return Bytes::count(value); }
};

template <>
struct Integer<Micros> : Integer64 {
  static std::int64_t to(Micros value) { return value.count(); }
  static Micros from(std::int64_t value) { return Micros::count(value); }
};

template <>
struct Integer<Money> : Integer64 {
  static std::int64_t to(Money value) { return value.nanos(); }
  static Money from(std::int64_t value) { return Money::nanos(value); }
};

template <typename T>
concept IsInteger = requires { Integer<T>::kMax; };

template <typename T>
concept IsText = std::same_as<T, std::string> || requires(const T& value) {
  { value.str() } -> std::convertible_to<std::string>;
};

template <typename T>
bool is_default(const T& value) {
  if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return value == T{};
  }
}

// Whether the list of fields fills `Record`: members that are stored otherwise than they are held
// are put into it at the end of the list.
template <typename Record>
inline constexpr bool kIsRead = !std::is_const_v<std::remove_reference_t<Record>>;

template <IsInteger T>
Result<void> read_integer(const json::Value& json, Number rule, T& value) {
  rule.min = std::max(rule.min, Integer<T>::kMin);
  rule.max = std::min(rule.max, Integer<T>::kMax);
  value = Integer<T>::from(TRY(read_number(json, rule)));
  return {};
}

}  // namespace detail

template <detail::IsInteger T>
struct Form<T> {
  static void write(json::Writer& out, T value) {
    detail::check_number(detail::Integer<T>::to(value), Number());
    out.integer(detail::Integer<T>::to(value));
  }
  static Result<void> read(const json::Value& json, T& value) {
    return detail::read_integer(json, Number(), value);
  }
};

template <detail::IsText T>
struct Form<T> {
  static void write(json::Writer& out, const T& value) {
    if constexpr (std::same_as<T, std::string>) {
      out.text(value);
    } else {
      out.text(value.str());
    }
  }
  static Result<void> read(const json::Value& json, T& value) {
    TRY(detail::expect_kind(json, json::Value::Kind::kText));
    if constexpr (requires { T::parse(json.as_text()); }) {
      value = TRY(T::parse(json.as_text()));
    } else {
      value = T(json.as_text());
    }
    return {};
  }
};

template <>
struct Form<bool> {
  static void write(json::Writer& out, bool value) { out.boolean(value); }
  static Result<void> read(const json::Value& json, bool& value) {
    TRY(detail::expect_kind(json, json::Value::Kind::kBool));
    value = json.as_bool();
    return {};
  }
};

// An enum as its word; `Parse` is the reader that goes with its to_string().
template <typename Enum, Result<Enum> (*Parse)(std::string_view)>
struct WordForm {
  static void write(json::Writer& out, Enum value) { out.text(to_string(value)); }
  static Result<void> read(const json::Value& json, Enum& value) {
    TRY(detail::expect_kind(json, json::Value::Kind::kText));
    value = TRY(Parse(json.as_text()));
    return {};
  }
};

template <typename T>
struct Form<std::vector<T>> {
  static void write(json::Writer& out, const std::vector<T>& values) {
    out.begin_list();
    for (const T& value : values) Form<T>::write(out, value);
    out.end_list();
  }
  static Result<void> read(const json::Value& json, std::vector<T>& values) {
    TRY(detail::expect_kind(json, json::Value::Kind::kList));
    const json::Value::List& items = json.as_list();
    values.clear();
    values.reserve(items.size());
    for (const json::Value& item : items) {
      Result<void> done = Form<T>::read(item, values.emplace_back());
      if (!done.ok()) return detail::inside_item(values.size() - 1, std::move(done).error());
    }
    return {};
  }
};

template <typename A, typename B>
struct Form<std::pair<A, B>> {
  static void write(json::Writer& out, const std::pair<A, B>& value) {
    out.begin_list();
    Form<A>::write(out, value.first);
    Form<B>::write(out, value.second);
    out.end_list();
  }
  static Result<void> read(const json::Value& json, std::pair<A, B>& value) {
    TRY(detail::expect_kind(json, json::Value::Kind::kList));
    if (json.as_list().size() != 2) return Error(Errc::kInvalid, "this must be a list of two");
    TRY(Form<A>::read(json.as_list()[0], value.first));
    return Form<B>::read(json.as_list()[1], value.second);
  }
};

template <typename T>
struct Form<std::optional<T>> {
  static void write(json::Writer& out, const std::optional<T>& value) {
    CHECK(value.has_value(), "an absent value is written");
    Form<T>::write(out, *value);
  }
  static Result<void> read(const json::Value& json, std::optional<T>& value) {
    return Form<T>::read(json, value.emplace());
  }
};

// Writes the fields of one object.
class Encoder {
 public:
  explicit Encoder(json::Writer& out) : out_(out) {}

  template <typename T>
  void operator()(std::string_view key, const T& value) {
    if (!detail::is_default(value)) put(key, value);
  }
  template <typename T>
  void operator()(std::string_view key, const T& value, Required) {
    put(key, value);
  }
  template <detail::IsInteger T>
  void operator()(std::string_view key, const T& value, const Number& rule) {
    const std::int64_t number = detail::Integer<T>::to(value);
    detail::check_number(number, rule);
    if (number != rule.fallback) out_.key(key).integer(number);
  }
  template <detail::IsInteger T>
  void operator()(std::string_view key, const std::optional<T>& value, const Number& rule) {
    if (!value) return;
    detail::check_number(detail::Integer<T>::to(*value), rule);
    out_.key(key).integer(detail::Integer<T>::to(*value));
  }
  void operator()(std::string_view key, Money value, InMillionths rule) {
    CHECK(Money::micros(value.micros()) == value, "millionths would lose a part of the amount");
    (*this)(key, value.micros(), Number{.max = rule.max.micros()});
  }
  void operator()(std::string_view key, const std::string& value, const Text& rule) {
    if (value != rule.fallback) put(key, value);
  }
  // Counts by name. A zero is no member, so that equal amounts are equal text.
  void operator()(std::string_view key, const std::map<std::string, std::int64_t>& counts,
                  const Number& rule);
  template <typename A, typename B>
  void operator()(std::string_view key, const std::vector<std::pair<A, B>>& pairs, AsObject) {
    if (pairs.empty()) return;
    out_.key(key).begin_object();
    for (const auto& [name, value] : pairs) {
      out_.key(name);
      Form<B>::write(out_, value);
    }
    out_.end_object();
  }

 private:
  template <typename T>
  void put(std::string_view key, const T& value) {
    out_.key(key);
    Form<T>::write(out_, value);
  }

  json::Writer& out_;
};

// Reads the fields of one object. The first error stands; what follows it is passed over.
class Decoder {
 public:
  explicit Decoder(json::Reader& reader) : reader_(reader) {}

  template <typename T>
  void operator()(std::string_view key, T& value) {
    const json::Value* json = find(key);
    if (json == nullptr) {
      value = T{};
    } else {
      note(key, Form<T>::read(*json, value));
    }
  }
  template <typename T>
  void operator()(std::string_view key, T& value, Required) {
    const json::Value* json = find(key);
    note(key,
         json == nullptr ? Result<void>(detail::missing_field()) : Form<T>::read(*json, value));
  }
  template <detail::IsInteger T>
  void operator()(std::string_view key, T& value, const Number& rule) {
    const json::Value* json = find(key);
    if (json == nullptr) {
      value = detail::Integer<T>::from(rule.fallback);
    } else {
      note(key, detail::read_integer(*json, rule, value));
    }
  }
  template <detail::IsInteger T>
  void operator()(std::string_view key, std::optional<T>& value, const Number& rule) {
    const json::Value* json = find(key);
    value.reset();
    if (json != nullptr) note(key, detail::read_integer(*json, rule, value.emplace()));
  }
  void operator()(std::string_view key, Money& value, InMillionths rule) {
    std::int64_t micros = 0;
    (*this)(key, micros, Number{.max = rule.max.micros()});
    value = Money::micros(micros);
  }
  void operator()(std::string_view key, std::string& value, const Text& rule) {
    const json::Value* json = find(key);
    if (json == nullptr) {
      value = rule.fallback;
    } else {
      note(key, Form<std::string>::read(*json, value));
    }
  }
  void operator()(std::string_view key, std::map<std::string, std::int64_t>& counts,
                  const Number& rule);
  template <typename A, typename B>
  void operator()(std::string_view key, std::vector<std::pair<A, B>>& pairs, AsObject) {
    const json::Value* json = find(key);
    pairs.clear();
    if (json != nullptr) note(key, read_members(*json, pairs));
  }

  // The first error, or that of a member nobody asked for.
  Result<void> finish();

 private:
  // Null when it is missing, and after an error.
  const json::Value* find(std::string_view key) { return error_ ? nullptr : reader_.optional(key); }
  void note(std::string_view key, Result<void> done);

  template <typename A, typename B>
  Result<void> read_members(const json::Value& json, std::vector<std::pair<A, B>>& pairs) {
    TRY(detail::expect_kind(json, json::Value::Kind::kObject));
    for (const auto& [name, member] : json.as_object()) {
      pairs.emplace_back().first = A(name);
      Result<void> done = Form<B>::read(member, pairs.back().second);
      if (!done.ok()) return detail::inside(name, std::move(done).error());
    }
    return {};
  }

  json::Reader& reader_;
  std::optional<Error> error_;
};

// The members of a record inside an object that is already open: for documents with more members.
template <typename T>
void write_fields(json::Writer& out, const T& value) {
  Encoder encoder(out);
  Fields<T>::visit(encoder, value);
}

template <typename T>
Result<T> read_fields(json::Reader& reader) {
  T value;
  Decoder decoder(reader);
  Fields<T>::visit(decoder, value);
  TRY(decoder.finish());
  if constexpr (requires { Fields<T>::check(value); }) {
    TRY(Fields<T>::check(value));
  }
  return value;
}

// Whole objects.
template <typename T>
void write_record(json::Writer& out, const T& value) {
  out.begin_object();
  write_fields(out, value);
  out.end_object();
}

// Errors name the field from `path` on.
template <typename T>
Result<T> read_record(const json::Value& json, std::string_view path = "") {
  Result<json::Reader> reader = json::Reader::of(json, "");
  if (!reader.ok()) return detail::inside(path, std::move(reader).error());
  Result<T> value = read_fields<T>(*reader);
  if (!value.ok()) return detail::inside(path, std::move(value).error());
  return value;
}

// A file that holds one record.
template <typename T>
std::string record_text(const T& value) {
  std::string text;
  json::Writer out(text);
  write_record(out, value);
  return text + "\n";
}

template <typename T>
Result<T> parse_record(std::string_view text) {
  const json::Value document = TRY(json::parse(text));
  return read_record<T>(document);
}

// A struct with a list of fields inside another one.
template <typename T>
  requires requires { sizeof(Fields<T>); }
struct Form<T> {
  static void write(json::Writer& out, const T& value) { write_record(out, value); }
  static Result<void> read(const json::Value& json, T& value) {
    value = TRY(read_record<T>(json));
    return {};
  }
};

}  // namespace runnel::model
