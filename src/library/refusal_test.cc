#include "library/refusal.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace runnel::library {
namespace {

TEST(Refusal, HasANumberThatLanguagesKnowAndNamesThePath) {
  const std::pair<Refusal, int> all[] = {
      {Refusal::kNoSuchPath, ENOENT},  {Refusal::kNotAFolder, ENOTDIR},
      {Refusal::kIsAFolder, EISDIR},   {Refusal::kTooManyLinks, ELOOP},
      {Refusal::kLeadsOut, ENOENT},    {Refusal::kNameTooLong, ENAMETOOLONG},
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

}  // namespace
}  // namespace runnel::library
