#include "base/result.h"

#include <coroutine>
#include <initializer_list>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

namespace runnel {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error(Errc::kInvalid, "odd").with_value(std::to_string(value));
  return value / 2;
}

Result<void> must_be_even(int value) {
  TRY(half(value));
  return {};
}

Result<int> quarter(int value) { return TRY(half(TRY(half(value)))); }

Result<std::unique_ptr<int>> boxed(int value) { return std::make_unique<int>(TRY(half(value))); }

Result<int> twice_in_one_scope(int value) {
  const int a = TRY(half(value));
  TRY(must_be_even(a));
  const std::unique_ptr<int> b = TRY(boxed(a));
  return a + *b;
}

TEST(Result, HoldsAValueOrAnError) {
  Result<int> good = half(4);
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(*good, 2);
  EXPECT_EQ(good.value_or(7), 2);
  const Result<int> bad = half(3);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, Errc::kInvalid);
  EXPECT_EQ(bad.value_or(7), 7);
}

TEST(Result, TryReturnsEarlyAlsoWhenNested) {
  EXPECT_EQ(MUST(quarter(12)), 3);
  EXPECT_EQ(quarter(6).error().value, "3");
  EXPECT_EQ(quarter(5).error().value, "5");
  EXPECT_EQ(MUST(twice_in_one_scope(8)), 6);
  EXPECT_EQ(twice_in_one_scope(6).error().value, "3");
}

TEST(Result, VoidCarriesOnlyTheError) {
  EXPECT_TRUE(must_be_even(2).ok());
  EXPECT_EQ(must_be_even(1).error().message, "odd");
  MUST(must_be_even(2));
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = boxed(10);
  const std::unique_ptr<int> owned = std::move(result).value();
  EXPECT_EQ(*owned, 5);
}

TEST(Result, ReachesMembersOfItsValue) {
  Result<std::string> text = std::string("abc");
  EXPECT_EQ(text->size(), 3U);
  (*text)[0] = 'x';
  EXPECT_EQ(text.value(), "xbc");
}

TEST(ResultDeathTest, TheWrongSideEndsTheProcess) {
  const Result<int> bad = half(3);
  const Result<int> good = half(4);
  const Result<void> bad_void = must_be_even(3);
  EXPECT_DEATH((void)bad.value(), "odd");
  EXPECT_DEATH((void)good.error(), "holds a value");
  EXPECT_DEATH(bad_void.value(), "odd");
  EXPECT_DEATH(MUST(half(3)), "half\\(3\\)");
  EXPECT_DEATH(MUST(must_be_even(3)), "odd");
}

TEST(CheckDeathTest, NamesConditionSentenceAndPlace) {
  EXPECT_DEATH(CHECK(1 + 1 == 3, "arithmetic holds"),
               "arithmetic holds\n.*CHECK\\(1 \\+ 1 == 3\\) at .*result_test.cc:[0-9]+");
}

TEST(Check, EvaluatesItsMessageOnlyOnFailure) {
  int evaluated = 0;
  const auto message = [&] {
    ++evaluated;
    return "never";
  };
  CHECK(evaluated == 0, message());
  EXPECT_EQ(evaluated, 0);
}

// A coroutine that runs at once and keeps what it returned: the smallest thing CO_TRY works in.
struct Immediate {
  struct promise_type {
    Immediate get_return_object() {
      return Immediate(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(Result<int> value) { returned.emplace(std::move(value)); }
    void unhandled_exception() { CHECK(false, "nothing throws here"); }

    std::optional<Result<int>> returned;
  };

  explicit Immediate(std::coroutine_handle<promise_type> handle) : coroutine(handle) {}
  Immediate(const Immediate&) = delete;
  Immediate& operator=(const Immediate&) = delete;
  ~Immediate() { coroutine.destroy(); }

  Result<int> result() const { return *coroutine.promise().returned; }

  std::coroutine_handle<promise_type> coroutine;
};

Immediate quarter_in_a_coroutine(int value) {
  const int once = CO_TRY(half(value));
  CO_TRY(must_be_even(once));
  co_return CO_TRY(half(once));
}

TEST(CoTry, ReturnsEarlyFromACoroutine) {
  EXPECT_EQ(MUST(quarter_in_a_coroutine(12).result()), 3);
  EXPECT_EQ(quarter_in_a_coroutine(5).result().error().value, "5");
  EXPECT_EQ(quarter_in_a_coroutine(6).result().error().value, "3");
}

TEST(Try, WorksInLoopsLambdasAndConditions) {
  const auto sum_of_halves = [](std::initializer_list<int> values) -> Result<int> {
    int sum = 0;
    for (const int value : values) {
      if (TRY(half(value)) > 0) sum += TRY(half(value));
    }
    return sum;
  };
  EXPECT_EQ(MUST(sum_of_halves({2, 4, -6})), 3);
  EXPECT_EQ(sum_of_halves({2, 3, 5}).error().value, "3");
}

TEST(Try, MovesANamedResult) {
  const auto unwrap = [](Result<std::unique_ptr<int>> result) -> Result<int> {
    const std::unique_ptr<int> owned = TRY(std::move(result));
    return *owned;
  };
  EXPECT_EQ(MUST(unwrap(boxed(4))), 2);
  EXPECT_EQ(unwrap(boxed(3)).error().code, Errc::kInvalid);
}

TEST(Try, EvaluatesItsExpressionOnce) {
  int calls = 0;
  const auto count = [&]() -> Result<int> { return ++calls; };
  const auto use = [&]() -> Result<int> { return TRY(count()) + TRY(count()); };
  EXPECT_EQ(MUST(use()), 3);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace runnel
