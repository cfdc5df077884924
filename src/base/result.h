#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/error.h"

namespace runnel {

// A value or the error that took its place.
//
// Contract: nodiscard; `value()` of an error is our bug and ends the process. Propagate with TRY.
// Why:      C++20 has no std::expected, and no exception may cross a module border.
template <typename T>
class [[nodiscard]] Result {
 public:
  using ValueType = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CHECK(ok(), error_text());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CHECK(ok(), error_text());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CHECK(ok(), error_text());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    CHECK(!ok(), "error() of a result that holds a value");
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    CHECK(!ok(), "error() of a result that holds a value");
    return std::move(*std::get_if<1>(&state_));
  }

  T value_or(T fallback) const& {
    if (ok()) return value();
    return fallback;
  }

 private:
  std::string error_text() const { return ok() ? std::string() : error().to_string(); }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using ValueType = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const { CHECK(ok(), error_->to_string()); }

  const Error& error() const& {
    CHECK(!ok(), "error() of a result that holds a value");
    return *error_;
  }
  Error&& error() && {
    CHECK(!ok(), "error() of a result that holds a value");
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

namespace detail {

template <typename T>
T must(Result<T>&& result, const char* expression, std::source_location where) {
  if (!result.ok()) check_failed(expression, result.error().to_string(), where);
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace detail

}  // namespace runnel

// One shape for TRY and CO_TRY. The variable carries a number, so that nested uses shadow nothing.
#define RUNNEL_TRY_JOIN_(a, b) a##b
#define RUNNEL_TRY_NAME_(number) RUNNEL_TRY_JOIN_(try_result_, number)
#define RUNNEL_TRY_(leave, result, expression) \
  __extension__({                              \
    auto&& result = (expression);              \
    if (!result.ok()) [[unlikely]]             \
      leave ::std::move(result).error();       \
    ::std::move(result).value();               \
  })

// The value, or an early `return` of the error. A statement expression, which both compilers have:
// `int n = TRY(parse(text));`. A named result is moved from.
#define TRY(expression) RUNNEL_TRY_(return, RUNNEL_TRY_NAME_(__COUNTER__), expression)

// The same inside a coroutine: `Reply reply = CO_TRY(co_await call());`. GCC 12 cannot compile an
// await inside a statement expression, and builds the pure modules only, which have none.
#define CO_TRY(expression) RUNNEL_TRY_(co_return, RUNNEL_TRY_NAME_(__COUNTER__), expression)

// The value of something that cannot fail unless the code is wrong.
#define MUST(expression) \
  ::runnel::detail::must((expression), #expression, ::std::source_location::current())
