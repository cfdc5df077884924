#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/units.h"
#include "http/message.h"
#include "json/value.h"
#include "model/fields.h"

// The parameters of a request's query, read and described by the list of fields that a struct has
// (model/fields.h). A parameter that is missing or empty leaves what the struct begins with.
namespace runnel::control {

inline constexpr std::int64_t kPageDefault = 50;
inline constexpr std::int64_t kPageMax = 1'000;
inline constexpr std::int64_t kTailMax = 1'000'000;  // Lines.
inline constexpr model::Number kPageLimit = {.min = 1, .max = kPageMax, .fallback = kPageDefault};

// "?watch", "?watch=1", "?watch=true".
enum class Flag : std::uint8_t { kOff, kOn };

// How a parameter of a type of its own is written: read() of its text, whose error says what the
// value is not and what to write, and schema().
template <typename T>
struct QueryForm;

// A parameter that is one of some words: specialise with `kAll`, words and what they mean.
template <typename Enum>
struct QueryWords;

namespace detail {

// `fault` as "is not a moment", after the value.
Error bad_parameter(const std::string& text, const std::string& fault, std::string hint);
Result<std::int64_t> parameter_number(const std::string& text, const model::Number& rule);
Error no_such_word(const std::string& text, const std::vector<std::string_view>& words);
json::Value text_schema();
json::Value number_parameter_schema(const model::Number& rule,
                                    std::optional<std::int64_t> fallback);
json::Value words_schema(const std::vector<std::string_view>& words);

template <typename Enum>
std::vector<std::string_view> words_of() {
  std::vector<std::string_view> words;
  words.reserve(std::size(QueryWords<Enum>::kAll));
  for (const auto& [word, value] : QueryWords<Enum>::kAll) words.push_back(word);
  return words;
}

}  // namespace detail

template <>
struct QueryForm<std::string> {
  static Result<std::string> read(const std::string& text) { return text; }
  static json::Value schema() { return detail::text_schema(); }
};

// "30s", of at most a week.
template <>
struct QueryForm<Duration> {
  static Result<Duration> read(const std::string& text);
  static json::Value schema() { return detail::text_schema(); }
};

template <typename Enum>
  requires requires { QueryWords<Enum>::kAll; }
struct QueryForm<Enum> {
  static Result<Enum> read(const std::string& text) {
    for (const auto& [word, value] : QueryWords<Enum>::kAll) {
      if (word == text) return value;
    }
    return detail::no_such_word(text, detail::words_of<Enum>());
  }
  static json::Value schema() { return detail::words_schema(detail::words_of<Enum>()); }
};

template <typename T>
struct QueryForm<std::optional<T>> {
  static Result<std::optional<T>> read(const std::string& text) {
    return std::optional<T>(TRY(QueryForm<T>::read(text)));
  }
  static json::Value schema() { return QueryForm<T>::schema(); }
};

// Reads the fields of one query. The first error stands.
class QueryReader {
 public:
  explicit QueryReader(const http::Request& request) : request_(request) {}

  template <typename T>
  void operator()(std::string_view key, T& value) {
    if (const std::optional<std::string> text = given(key)) {
      take(key, *text, QueryForm<T>::read(*text), value);
    }
  }
  void operator()(std::string_view key, Flag& value);
  template <model::detail::IsInteger T>
  void operator()(std::string_view key, T& value, const model::Number& rule) {
    value = model::detail::Integer<T>::from(rule.fallback);
    if (const std::optional<std::int64_t> number = given_number<T>(key, rule)) {
      value = model::detail::Integer<T>::from(*number);
    }
  }
  template <model::detail::IsInteger T>
  void operator()(std::string_view key, std::optional<T>& value, const model::Number& rule) {
    if (const std::optional<std::int64_t> number = given_number<T>(key, rule)) {
      value = model::detail::Integer<T>::from(*number);
    }
  }

  // A parameter that no field has, or that is not UTF-8, is the error before any other.
  Result<void> finish() const;

 private:
  // Nothing when it is missing or empty.
  std::optional<std::string> given(std::string_view key);
  void note(std::string_view key, const std::string& text, Error error);

  template <typename T>
  void take(std::string_view key, const std::string& text, Result<T> read, T& value) {
    if (read.ok()) {
      value = *std::move(read);
    } else {
      note(key, text, std::move(read).error());
    }
  }
  template <typename T>
  std::optional<std::int64_t> given_number(std::string_view key, model::Number rule) {
    const std::optional<std::string> text = given(key);
    if (!text) return std::nullopt;
    rule.max = std::min<std::int64_t>(rule.max, model::detail::Integer<T>::kMax);
    std::int64_t number = rule.fallback;
    take(key, *text, detail::parameter_number(*text, rule), number);
    return number;
  }

  const http::Request& request_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

// Takes the place of the reader: it notes the parameters instead of reading them.
class QueryDescriber {
 public:
  template <typename T>
  void operator()(std::string_view key, const T&) {
    put(key, QueryForm<T>::schema());
  }
  void operator()(std::string_view key, const Flag&);
  template <model::detail::IsInteger T>
  void operator()(std::string_view key, const T&, const model::Number& rule) {
    put(key, detail::number_parameter_schema(rule, rule.fallback));
  }
  template <model::detail::IsInteger T>
  void operator()(std::string_view key, const std::optional<T>&, const model::Number& rule) {
    put(key, detail::number_parameter_schema(rule, std::nullopt));
  }
  json::Value::List parameters() && { return std::move(parameters_); }

 private:
  void put(std::string_view key, json::Value schema);

  json::Value::List parameters_;
};

template <typename Query>
Result<Query> read_query(const http::Request& request) {
  Query query;
  QueryReader reader(request);
  model::Fields<Query>::visit(reader, query);
  TRY(reader.finish());
  return query;
}

template <typename Query>
json::Value::List query_parameters() {
  const Query query{};
  QueryDescriber describer;
  model::Fields<Query>::visit(describer, query);
  return std::move(describer).parameters();
}

// Whether the client asks for server-sent events rather than JSON lines.
enum class StreamForm : std::uint8_t { kJsonLines, kServerSentEvents };
StreamForm stream_form_of(const http::Request& request);

}  // namespace runnel::control
