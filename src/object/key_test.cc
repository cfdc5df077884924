#include "object/key.h"

#include <string>

#include <gtest/gtest.h>

namespace runnel::object {
namespace {

TEST(Key, OfEveryStoreHasPlainParts) {
  for (const char* key : {"a", "v/0-1", "A.b_c/d", "a.runnel", ".run/x"}) {
    EXPECT_TRUE(check_key(key).ok()) << key;
    EXPECT_TRUE(check_key(key, KeyRule::kEveryStore).ok()) << key;
  }
  for (const char* key : {"", "/a", "a/", "a//b", ".", "a/..", "a b", ".runnel", "a/.runnel.x"}) {
    EXPECT_EQ(check_key(key).error().code, Errc::kInvalid) << key;
    EXPECT_EQ(check_key(key, KeyRule::kEveryStore).error().code, Errc::kInvalid) << key;
  }
  EXPECT_TRUE(check_key(std::string(kKeyBytesMax, 'x')).ok());
  EXPECT_FALSE(check_key(std::string(kKeyBytesMax + 1, 'x')).ok());
}

TEST(Key, OfABucketHasAnyCharacterButNoPathElsewhere) {
  for (const char* key : {"a b", "\xc3\xa9?#%&=+", "a\nb", ".runnel/x", "..a/b.."}) {
    EXPECT_TRUE(check_key(key, KeyRule::kBucket).ok()) << key;
  }
  for (const char* key : {"", "/a", "a/", "a//b", "a/./b", "../a"}) {
    EXPECT_EQ(check_key(key, KeyRule::kBucket).error().code, Errc::kInvalid) << key;
  }
  EXPECT_TRUE(check_key(std::string(kBucketKeyBytesMax, 'x'), KeyRule::kBucket).ok());
  const Error error = check_key(std::string(kBucketKeyBytesMax + 1, 'x'), KeyRule::kBucket).error();
  EXPECT_NE(error.message.find("1025 bytes; the limit is 1024"), std::string::npos);
}

}  // namespace
}  // namespace runnel::object
