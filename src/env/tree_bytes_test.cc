#include "env/tree_bytes.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

constexpr Duration kLong = Duration::seconds(30);

TEST(TreeBytes, AreThoseOfItsRegularFiles) {
  const testing::TemporaryDirectory folder;
  EXPECT_EQ(tree_bytes(folder.path(), kLong), 0);
  MUST(make_directories(folder.path() + "/a/b"));
  MUST(append_file(folder.path() + "/a/b/one", "12345"));
  MUST(append_file(folder.path() + "/two", "123"));
  ASSERT_EQ(::symlink((folder.path() + "/two").c_str(), (folder.path() + "/link").c_str()), 0);
  EXPECT_EQ(tree_bytes(folder.path(), kLong), 8);
  EXPECT_EQ(tree_bytes(folder.path() + "/two", kLong), 3);
}

TEST(TreeBytes, AreNotKnownOfWhatIsNotThereOrTakesTooLong) {
  const testing::TemporaryDirectory folder;
  MUST(append_file(folder.path() + "/one", "1"));
  EXPECT_FALSE(tree_bytes(folder.path() + "/nowhere", kLong));
  EXPECT_FALSE(tree_bytes(folder.path(), Duration::millis(0)));
}

}  // namespace
}  // namespace runnel::env
