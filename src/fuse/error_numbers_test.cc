#include "fuse/error_numbers.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "writing/refusal.h"

namespace runnel::fuse {
namespace {

using writing::Refusal;

TEST(ErrorNumbers, ARefusalIsWhatADiskWouldAnswer) {
  const auto number = [](Refusal why) { return errno_of(writing::refused(why, "no")); };
  EXPECT_EQ(number(Refusal::kNoEntry), ENOENT);
  EXPECT_EQ(number(Refusal::kExists), EEXIST);
  EXPECT_EQ(number(Refusal::kNotFolder), ENOTDIR);
  EXPECT_EQ(number(Refusal::kIsFolder), EISDIR);
  EXPECT_EQ(number(Refusal::kNotEmpty), ENOTEMPTY);
  EXPECT_EQ(number(Refusal::kIntoItself), EINVAL);
  EXPECT_EQ(number(Refusal::kNameTooLong), ENAMETOOLONG);
  EXPECT_EQ(number(Refusal::kTooLong), EFBIG);
  EXPECT_EQ(number(Refusal::kTooManyNames), EMLINK);
  EXPECT_EQ(number(Refusal::kNoSecondName), EPERM);
  EXPECT_EQ(number(Refusal::kReadOnly), EROFS);
  EXPECT_TRUE(is_ordinary(writing::refused(Refusal::kNoEntry, "no")));
}

TEST(ErrorNumbers, AnotherErrorIsTold) {
  EXPECT_EQ(errno_of(Error(Errc::kNotFound, "no object")), EIO) << "no name of the mount's";
  EXPECT_EQ(errno_of(Error(Errc::kFull, "no room")), ENOSPC);
  EXPECT_EQ(errno_of(Error(Errc::kUnavailable, "no store")), EIO);
  EXPECT_FALSE(is_ordinary(Error(Errc::kFull, "no room")));
}

}  // namespace
}  // namespace runnel::fuse
