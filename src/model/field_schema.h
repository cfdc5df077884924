#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "json/value.h"
#include "model/fields.h"

// The JSON Schema of a record, from the same list of fields that its JSON is written and read by.
namespace runnel::model {

template <typename T>
json::Value schema_of();

namespace detail {

json::Value typed_schema(std::string_view type);
json::Value list_schema(json::Value items);
json::Value members_schema(json::Value member);
json::Value number_schema(const Number& rule);

template <typename T>
struct Inner;
template <typename T>
struct Inner<std::vector<T>> {
  static json::Value schema() { return list_schema(schema_of<T>()); }
};
template <typename T>
struct Inner<std::optional<T>> {
  static json::Value schema() { return schema_of<T>(); }
};
template <typename T>
struct Inner<std::shared_ptr<const T>> {
  static json::Value schema() { return schema_of<T>(); }
};
template <typename A, typename B>
struct Inner<std::pair<A, B>> {
  static json::Value schema() { return list_schema(json::Value::object()); }
};

// Takes the place of the encoder: it notes the fields instead of writing them.
class SchemaMaker {
 public:
  template <typename T>
  void operator()(std::string_view key, const T&) {
    put(key, schema_of<T>());
  }
  template <typename T>
  void operator()(std::string_view key, const T&, Required) {
    put(key, schema_of<T>());
    required_.push_back(json::Value::text(std::string(key)));
  }
  template <IsInteger T>
  void operator()(std::string_view key, const T&, const Number& rule) {
    put(key, number_schema(rule));
  }
  template <IsInteger T>
  void operator()(std::string_view key, const std::optional<T>&, const Number& rule) {
    put(key, number_schema(rule));
  }
  void operator()(std::string_view key, Money, InMillionths rule) {
    put(key, number_schema(Number{.max = rule.max.micros()}));
  }
  void operator()(std::string_view key, const std::string&, const Text&) {
    put(key, typed_schema("string"));
  }
  void operator()(std::string_view key, const std::map<std::string, std::int64_t>&,
                  const Number& rule) {
    put(key, members_schema(number_schema(rule)));
  }
  template <typename A, typename B>
  void operator()(std::string_view key, const std::vector<std::pair<A, B>>&, AsObject) {
    put(key, members_schema(schema_of<B>()));
  }

  json::Value schema() const;

 private:
  void put(std::string_view key, json::Value schema) {
    properties_.set(std::string(key), std::move(schema));
  }

  json::Value properties_ = json::Value::object();
  json::Value::List required_;
};

}  // namespace detail

template <typename T>
json::Value schema_of() {
  if constexpr (requires { Form<T>::schema(); }) {
    return Form<T>::schema();
  } else if constexpr (requires { sizeof(Fields<T>); }) {
    detail::SchemaMaker maker;
    const T value{};
    Fields<T>::visit(maker, value);
    return maker.schema();
  } else if constexpr (requires { sizeof(detail::Inner<T>); }) {
    return detail::Inner<T>::schema();
  } else if constexpr (std::is_same_v<T, bool>) {
    return detail::typed_schema("boolean");
  } else if constexpr (detail::IsInteger<T>) {
    return detail::typed_schema("integer");
  } else {
    static_assert(detail::IsText<T> || std::is_enum_v<T>,
                  "a record whose list of fields is not here");
    return detail::typed_schema("string");  // Enums are words.
  }
}

}  // namespace runnel::model
