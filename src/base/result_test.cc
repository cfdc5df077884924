#include "base/result.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

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

TEST(Error, ReadsAsOneSentenceForAPerson) {
  Error error(Errc::kInvalid, "'12 bananas' is not an amount of bytes");
  EXPECT_EQ(error.to_string(), "'12 bananas' is not an amount of bytes");
  error.with_field("resources.memory").with_hint("write 24GB or 24GiB").at({"job.yaml", 3, 7});
  EXPECT_EQ(error.to_string(),
            "job.yaml:3:7: resources.memory: '12 bananas' is not an amount of bytes; write 24GB or "
            "24GiB");
  error.at({"job.yaml", 0, 0});
  EXPECT_TRUE(error.to_string().starts_with("job.yaml: resources.memory"));
}

TEST(Error, EveryCodeHasItsOwnWord) {
  std::vector<std::string_view> words;
  for (int code = 0; code <= static_cast<int>(Errc::kInternal); ++code) {
    const std::string_view word = to_string(static_cast<Errc>(code));
    EXPECT_EQ(std::count(words.begin(), words.end(), word), 0) << word;
    words.push_back(word);
  }
  EXPECT_EQ(words.size(), 14U);
}

TEST(Error, KnowsTheKindOfAnErrno) {
  EXPECT_EQ(errno_error("open /x", ENOENT).code, Errc::kNotFound);
  EXPECT_EQ(errno_error("open /x", EACCES).code, Errc::kDenied);
  EXPECT_EQ(errno_error("write /x", ENOSPC).code, Errc::kFull);
  EXPECT_EQ(errno_error("connect /x", ECONNREFUSED).code, Errc::kUnavailable);
  EXPECT_EQ(errno_error("mkdir /x", EEXIST).code, Errc::kConflict);
  EXPECT_EQ(errno_error("connect /x", ETIMEDOUT).code, Errc::kTimeout);
  EXPECT_EQ(errno_error("read /x", EIO).code, Errc::kIo);
  EXPECT_EQ(errno_error("open /x", ENOENT).message, "open /x: No such file or directory");
}

}  // namespace
}  // namespace runnel
