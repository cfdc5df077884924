#include "library/refusal.h"

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

namespace runnel::library {
namespace {

TEST(Refusal, HasANumberThatLanguagesKnowAndNamesThePath) {
  const std::pair<Refusal, int> all[] = {
      {Refusal::kNoSuchPath, ENOENT}, {Refusal::kNotAFolder, ENOTDIR},
      {Refusal::kIsAFolder, EISDIR},  {Refusal::kTooManyLinks, ELOOP},
      {Refusal::kLeadsOut, ENOENT},   {Refusal::kNameTooLong, ENAMETOOLONG},
  };
  for (const auto& [refusal, number] : all) {
    EXPECT_EQ(number_of(refusal), number);
    EXPECT_NE(text_of(refusal, "a/b", "data@1").find("'a/b'"), std::string::npos);
  }
}

TEST(Refusal, ShowsAPathInOneLine) {
  EXPECT_EQ(text_of(Refusal::kNoSuchPath, "new\nline", "data@1").find('\n'), std::string::npos);
}

TEST(Refusal, TellsAVersionThatIsGoneFromOneThatNeverWas) {
  const Error error(Errc::kNotFound, "no version");
  EXPECT_EQ(number_of_opening(error), ENOENT);
  EXPECT_EQ(number_of_asking(error), ESTALE);
  EXPECT_EQ(number_of_asking(Error(Errc::kConflict, "taken for dead")), ESTALE);
  EXPECT_EQ(number_of_asking(Error(Errc::kGone, "closed")), EBADF);
  EXPECT_EQ(number_of_asking(Error(Errc::kCorrupt, "damage")), EIO);
  EXPECT_EQ(number_of_asking(Error(Errc::kTimeout, "slow")), ETIMEDOUT);
  EXPECT_EQ(number_of_opening(Error(Errc::kConflict, "in use")), EBUSY);
}

TEST(Refusal, AnErrorOfTheStoreIsOneThatLanguagesKnow) {
  const std::pair<Errc, int> all[] = {
      {Errc::kInvalid, EINVAL},
      {Errc::kUnsupported, ENOTSUP},
      {Errc::kDenied, EACCES},
      {Errc::kFull, ENOSPC},
      {Errc::kUnavailable, ECONNREFUSED},
      {Errc::kCancelled, ECANCELED},
      {Errc::kIo, EIO},
      {Errc::kInternal, EIO},
  };
  for (const auto& [code, number] : all) {
    EXPECT_EQ(number_of_opening(Error(code, "")), number) << to_string(code);
    EXPECT_EQ(number_of_asking(Error(code, "")), number) << to_string(code);
  }
}

}  // namespace
}  // namespace runnel::library
