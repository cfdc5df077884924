#include "home/synced_folders.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::home {
namespace {

class SyncedFoldersTest : public ::testing::Test {
 protected:
  env::testing::TemporaryDirectory folder_;
  std::string made(const std::string& name) {
    MUST(env::make_directories(folder_.file(name)));
    return folder_.file(name);
  }

  Home home_{folder_.path() + "/home"};
};

TEST_F(SyncedFoldersTest, AreRememberedWithTheirVolume) {
  const std::string folder = made("a");
  EXPECT_FALSE(MUST(was_synced(home_, folder, {"uuid", "set"})));
  MUST(remember_synced(home_, folder, {"uuid", "set"}));
  MUST(remember_synced(home_, folder, {"uuid", "set"}));
  EXPECT_TRUE(MUST(was_synced(home_, folder, {"uuid", "set"})));
  EXPECT_FALSE(MUST(was_synced(home_, folder, {"other", "set"})));
  EXPECT_FALSE(MUST(was_synced(home_, folder, {"uuid", ""})));
  EXPECT_FALSE(MUST(was_synced(home_, made("a/b"), {"uuid", "set"})));
}

TEST_F(SyncedFoldersTest, AreWhatTheyWereSyncedWithLast) {
  const std::string folder = made("a");
  MUST(remember_synced(home_, folder, {"one", ""}));
  MUST(remember_synced(home_, folder, {"two", ""}));
  EXPECT_TRUE(MUST(was_synced(home_, folder, {"two", ""})));
  EXPECT_FALSE(MUST(was_synced(home_, folder, {"one", ""})));
}

TEST_F(SyncedFoldersTest, AreNotTheFoldersThatCameInTheirPlace) {
  const std::string folder = made("a");
  MUST(remember_synced(home_, folder, {"uuid", ""}));
  ASSERT_EQ(::rename(folder.c_str(), folder_.file("away").c_str()), 0);
  made("a");
  EXPECT_FALSE(MUST(was_synced(home_, folder, {"uuid", ""})));
}

TEST_F(SyncedFoldersTest, AreAskedAboutAgainWhenTheirNameIsAllThatIsKnown) {
  const std::string folder = made("a");
  MUST(env::make_directories(home_.root));
  MUST(env::write_file_atomically(
      home_.synced_file(), R"({"folders":[{"folder":")" + folder + R"(","volume":"data"}]})"));
  EXPECT_FALSE(MUST(was_synced(home_, folder, {"data", ""})));
  MUST(remember_synced(home_, folder, {"uuid", ""}));
  EXPECT_TRUE(MUST(was_synced(home_, folder, {"uuid", ""})));
}

TEST_F(SyncedFoldersTest, ForgetTheOldest) {
  MUST(remember_synced(home_, made("first"), {"uuid", ""}));
  MUST(remember_synced(home_, made("second"), {"uuid", ""}));
  std::string text = MUST(env::read_file(home_.synced_file()));
  text.resize(text.rfind("]}"));
  for (std::size_t count = 2; count < kSyncedMax; ++count) {
    text += R"(,{"folder":"/)" + std::to_string(count) + R"(","volume":"uuid"})";
  }
  MUST(env::write_file_atomically(home_.synced_file(), text + "]}"));
  EXPECT_TRUE(MUST(was_synced(home_, made("first"), {"uuid", ""})));
  MUST(remember_synced(home_, made("last"), {"uuid", ""}));
  EXPECT_FALSE(MUST(was_synced(home_, made("first"), {"uuid", ""})));
  EXPECT_TRUE(MUST(was_synced(home_, made("second"), {"uuid", ""})));
}

TEST_F(SyncedFoldersTest, SayWhatToDoWithADamagedFile) {
  MUST(env::make_directories(home_.root));
  MUST(env::write_file_atomically(home_.synced_file(), "{"));
  const Error error = was_synced(home_, made("a"), {"uuid", ""}).error();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_NE(error.hint.find("remove it"), std::string::npos);
}

}  // namespace
}  // namespace runnel::home
