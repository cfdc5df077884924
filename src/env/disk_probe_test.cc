#include "env/disk_probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

// That a frozen one is found out needs a file system to freeze: test/e2e/test_frozen_disk.py.
TEST(DiskProbe, LeavesNoTraceOnADiskThatAnswers) {
  const testing::TemporaryDirectory folder;
  EXPECT_TRUE(probe_disk(folder.path(), Duration::seconds(60)).ok());
  EXPECT_TRUE(MUST(list_directory(folder.path())).empty());
}

TEST(DiskProbe, TakesAFolderThatIsNotThereForAnAnswer) {
  const testing::TemporaryDirectory folder;
  EXPECT_TRUE(probe_disk(folder.file("gone"), Duration::seconds(60)).ok());
}

TEST(DiskProbe, LeavesNoChildBehind) {
  const testing::TemporaryDirectory folder;
  ASSERT_TRUE(probe_disk(folder.path(), Duration::seconds(60)).ok());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(DiskProbe, HoldsNoPipeOfItsParents) {
  const testing::TemporaryDirectory folder;
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  (void)probe_disk(folder.path(), Duration());
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "its end is told though a child was left behind";
  ::close(ends[0]);
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0);
}

TEST(DiskProbe, NamesTheFolderThatHasNotAnswered) {
  const testing::TemporaryDirectory folder;
  const Result<void> answered = probe_disk(folder.path(), Duration());
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, Errc::kTimeout);
  EXPECT_NE(answered.error().message.find(folder.path()), std::string::npos);
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0) << "it is left to whoever reaps";
}

// That a dead mount is found out needs one: test/e2e/test_dead_mount.py.
TEST(PathProbe, TakesForAnAnswerThatNothingIsThere) {
  const testing::TemporaryDirectory folder;
  EXPECT_TRUE(probe_path(folder.path(), Duration::seconds(60)).ok());
  EXPECT_TRUE(probe_path(folder.file("gone"), Duration::seconds(60)).ok());
}

TEST(PathProbe, TakesForAnAnswerThatNobodyCanGetThere) {
  const testing::TemporaryDirectory folder;
  ASSERT_EQ(::symlink("circle", folder.file("circle").c_str()), 0);
  EXPECT_TRUE(probe_path(folder.file("circle/x"), Duration::seconds(60)).ok());
  MUST(write_file_atomically(folder.file("file"), ""));
  EXPECT_TRUE(probe_path(folder.file("file/x"), Duration::seconds(60)).ok());
}

TEST(PathProbe, LeavesNoChildBehind) {
  const testing::TemporaryDirectory folder;
  ASSERT_TRUE(probe_path(folder.path(), Duration::seconds(60)).ok());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(PathProbe, NamesThePathThatHasNotAnswered) {
  const testing::TemporaryDirectory folder;
  const Result<void> answered = probe_path(folder.path(), Duration());
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, Errc::kTimeout);
  EXPECT_EQ(answered.error().value, folder.path());
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0);
}

}  // namespace
}  // namespace runnel::env
