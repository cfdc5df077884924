#include "home/synced_folders.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::home {
namespace {

class SyncedFoldersTest : public ::testing::Test {
 protected:
  env::testing::TemporaryDirectory folder_;
  Home home_{folder_.path() + "/home"};
};

TEST_F(SyncedFoldersTest, AreRememberedWithTheirVolume) {
  EXPECT_FALSE(MUST(was_synced(home_, "/a", "data")));
  MUST(remember_synced(home_, "/a", "data"));
  MUST(remember_synced(home_, "/a", "data"));
  EXPECT_TRUE(MUST(was_synced(home_, "/a", "data")));
  EXPECT_FALSE(MUST(was_synced(home_, "/a", "other")));
  EXPECT_FALSE(MUST(was_synced(home_, "/a/b", "data")));
}

TEST_F(SyncedFoldersTest, ForgetTheOldest) {
  MUST(remember_synced(home_, "/first", "data"));
  for (std::size_t count = 0; count < kSyncedMax; ++count) {
    MUST(remember_synced(home_, "/f" + std::to_string(count), "data"));
  }
  EXPECT_FALSE(MUST(was_synced(home_, "/first", "data")));
  EXPECT_TRUE(MUST(was_synced(home_, "/f0", "data")));
}

TEST_F(SyncedFoldersTest, SayWhatToDoWithADamagedFile) {
  MUST(env::make_directories(home_.root));
  MUST(env::write_file_atomically(home_.synced_file(), "{"));
  const Error error = was_synced(home_, "/a", "data").error();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_NE(error.hint.find("remove it"), std::string::npos);
}

}  // namespace
}  // namespace runnel::home
