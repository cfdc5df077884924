#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

namespace runnel {
namespace {

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

TEST(Error, ComparesByAllItSays) {
  const Error plain(Errc::kInvalid, "wrong");
  EXPECT_EQ(plain, Error(Errc::kInvalid, "wrong"));
  EXPECT_NE(plain, Error(Errc::kConflict, "wrong"));
  EXPECT_NE(plain, Error(plain).with_field("f"));
  EXPECT_NE(plain, Error(plain).with_value("v"));
  EXPECT_NE(plain, Error(plain).with_hint("h"));
  EXPECT_NE(plain, Error(plain).at({"file", 1, 2}));
}

TEST(Error, TheValueIsForProgramsAndNotRepeatedInTheSentence) {
  Error error(Errc::kInvalid, "too large");
  EXPECT_EQ(error.with_value("12").to_string(), "too large");
}

TEST(SourcePosition, IsKnownFromItsLineOn) {
  EXPECT_FALSE(SourcePosition().known());
  EXPECT_FALSE((SourcePosition{"job.yaml", 0, 0}).known());
  EXPECT_TRUE((SourcePosition{"job.yaml", 1, 1}).known());
}

}  // namespace
}  // namespace runnel
