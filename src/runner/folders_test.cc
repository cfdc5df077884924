#include "runner/folders.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "output/paths.h"
#include "runner/testing/runner_process.h"

namespace runnel::runner {
namespace {

namespace fs = std::filesystem;
using env::testing::TemporaryDirectory;

model::AttemptRef attempt_in_step_3(std::int64_t task, std::int32_t attempt = 1) {
  return {{JobId("job"), StepIndex(3), TaskIndex(task)}, AttemptNumber(attempt)};
}

class FoldersTest : public ::testing::Test {
 protected:
  FoldersTest() : folders_(home_.path(), JobId("job")) {}

  TaskFolder take(const model::AttemptRef& attempt, TaskFolderKind kind = TaskFolderKind::kLane) {
    return MUST(folders_.take(0, attempt, kind, "ckpt"));
  }
  std::string job() const { return output::job_folder(home_.path(), JobId("job")); }
  static void leave(const std::string& path) { std::ofstream(path) << "x"; }

  TemporaryDirectory home_;
  TaskFolders folders_;
};

TEST_F(FoldersTest, AnUntouchedLaneFolderServesTheNext) {
  const TaskFolder first = take(attempt_in_step_3(1));
  EXPECT_TRUE(first.of_lane);
  EXPECT_EQ(first.path, job() + "/tasks/3.1");
  EXPECT_EQ(first.checkpoint, job() + "/tasks/3.1/ckpt");
  EXPECT_TRUE(fs::is_directory(first.checkpoint));
  folders_.give_back(0, first);
  EXPECT_FALSE(fs::exists(first.path));
  EXPECT_TRUE(fs::is_directory(job() + "/lanes/0/ckpt"));
  const TaskFolder second = take(attempt_in_step_3(2));
  EXPECT_EQ(second.path, job() + "/tasks/3.2");
  EXPECT_FALSE(fs::exists(job() + "/lanes/0")) << "moved, not made";
}

TEST_F(FoldersTest, WhatIsNoFolderWhereCheckpointsGoIsRefusedForGood) {
  const TaskFolder first = take(attempt_in_step_3(1));
  fs::remove_all(first.checkpoint);
  leave(first.checkpoint);
  const Result<TaskFolder> again =
      folders_.take(0, attempt_in_step_3(1, 2), TaskFolderKind::kLane, "ckpt");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Errc::kInvalid);
  EXPECT_EQ(again.error().message, first.checkpoint + " is a file, not a folder");
}

TEST_F(FoldersTest, WhateverIsLeftMakesItTheTasks) {
  int task = 0;
  for (const char* name : {"/file", "/ckpt/state", "/.hidden"}) {
    const TaskFolder folder = take(attempt_in_step_3(++task));
    leave(folder.path + name);
    folders_.give_back(0, folder);
    EXPECT_TRUE(fs::exists(job() + "/tasks/3." + std::to_string(task) + name)) << name;
    EXPECT_FALSE(fs::exists(job() + "/lanes/0")) << name;
  }
}

TEST_F(FoldersTest, EvenWhatWasRemovedAgainIsNoticed) {
  const TaskFolder folder = take(attempt_in_step_3(1));
  leave(folder.path + "/brief");
  fs::remove(folder.path + "/brief");
  folders_.give_back(0, folder);
  EXPECT_TRUE(fs::is_directory(take(attempt_in_step_3(2)).checkpoint));
}

TEST_F(FoldersTest, ATaskMayRemoveItsFolder) {
  const TaskFolder folder = take(attempt_in_step_3(1));
  fs::remove_all(folder.path);
  folders_.give_back(0, folder);
  EXPECT_TRUE(fs::is_directory(take(attempt_in_step_3(2)).checkpoint));
}

TEST_F(FoldersTest, ASecondAttemptFindsWhatTheFirstLeft) {
  const TaskFolder first = take(attempt_in_step_3(1));
  EXPECT_FALSE(first.resume);
  leave(first.checkpoint + "/state");
  folders_.give_back(0, first);
  const TaskFolder second = take(attempt_in_step_3(1, 2));
  EXPECT_EQ(second.path, job() + "/tasks/3.1");
  EXPECT_TRUE(second.resume);
  EXPECT_TRUE(fs::exists(second.checkpoint + "/state"));
  const TaskFolder other = take(attempt_in_step_3(2, 2));
  EXPECT_TRUE(other.of_lane) << "its first attempt left nothing";
  EXPECT_FALSE(other.resume);
}

TEST_F(FoldersTest, ALastingFolderIsKeptAsItIs) {
  const TaskFolder folder = take(attempt_in_step_3(1), TaskFolderKind::kLasting);
  EXPECT_EQ(folder.path, job() + "/tasks/3.1");
  folders_.give_back(0, folder);
  EXPECT_TRUE(fs::is_directory(folder.checkpoint));
  EXPECT_FALSE(take(attempt_in_step_3(1, 2), TaskFolderKind::kLasting).resume)
      << "nothing to resume from";
}

TEST_F(FoldersTest, StepsMayNameTheirCheckpointsDifferently) {
  folders_.give_back(0, take(attempt_in_step_3(1)));
  const TaskFolder other =
      MUST(folders_.take(0, attempt_in_step_3(2), TaskFolderKind::kLane, "deep/er"));
  EXPECT_TRUE(fs::is_directory(job() + "/tasks/3.2/deep/er"));
  EXPECT_FALSE(fs::exists(job() + "/tasks/3.2/ckpt"));
  leave(other.checkpoint + "/state");
  folders_.give_back(0, other);
  EXPECT_TRUE(fs::exists(job() + "/tasks/3.2/deep/er/state"));
}

TEST_F(FoldersTest, WhatADeadRunnersAttemptLeftIsKept) {
  leave(take(attempt_in_step_3(1)).checkpoint + "/state");
  TaskFolders next(home_.path(), JobId("job"));
  next.settle(0, attempt_in_step_3(1));
  EXPECT_TRUE(fs::exists(job() + "/tasks/3.1/ckpt/state"));
  next.settle(5, attempt_in_step_3(2));
  EXPECT_FALSE(fs::exists(job() + "/tasks/3.2"));
}

TEST_F(FoldersTest, WhatADeadRunnersAttemptLinkedToIsNotTouched) {
  fs::create_directories(home_.path() + "/data/tree/empty");
  const TaskFolder folder = take(attempt_in_step_3(1));
  fs::create_directory_symlink(home_.path() + "/data/tree", folder.path + "/link");
  TaskFolders(home_.path(), JobId("job")).settle(0, attempt_in_step_3(1));
  EXPECT_TRUE(fs::is_directory(home_.path() + "/data/tree/empty"));
  EXPECT_TRUE(fs::is_symlink(job() + "/tasks/3.1/link")) << "a link is something that was left";
}

TEST_F(FoldersTest, ALinkInTheLanesPlaceIsNotFollowed) {
  fs::create_directories(home_.path() + "/data/tree/empty");
  const TaskFolder folder = take(attempt_in_step_3(1));
  fs::remove_all(folder.path);
  fs::create_directory_symlink(home_.path() + "/data/tree", folder.path);
  TaskFolders next(home_.path(), JobId("job"));
  next.remove_lanes();
  next.settle(0, attempt_in_step_3(1));
  EXPECT_TRUE(fs::is_directory(home_.path() + "/data/tree/empty"));
}

TEST_F(FoldersTest, NoFolderIsMadeWhereATaskLinkedTo) {
  fs::create_directories(home_.path() + "/data");
  fs::create_directories(job());
  fs::create_directory_symlink(home_.path() + "/data", job() + "/lanes");
  EXPECT_TRUE(fs::is_directory(take(attempt_in_step_3(1)).checkpoint));
  EXPECT_TRUE(fs::is_empty(home_.path() + "/data"));
  fs::create_directory_symlink(home_.path() + "/data", job() + "/lanes/0");
  EXPECT_FALSE(fs::is_symlink(take(attempt_in_step_3(2)).path));
  EXPECT_TRUE(fs::is_empty(home_.path() + "/data"));
}

TEST_F(FoldersTest, ADeepTreeIsKept) {
  std::string deep = take(attempt_in_step_3(1)).path;
  for (int i = 0; i < 100; ++i) deep += "/d";
  fs::create_directories(deep);
  TaskFolders(home_.path(), JobId("job")).settle(0, attempt_in_step_3(1));
  EXPECT_TRUE(fs::is_directory(job() + "/tasks/3.1/d/d"));
}

TEST_F(FoldersTest, NothingIsOverwritten) {
  leave(take(attempt_in_step_3(1), TaskFolderKind::kLasting).path + "/old");
  const TaskFolder again = take(attempt_in_step_3(1));
  EXPECT_EQ(again.path, job() + "/tasks/3.1");
  EXPECT_FALSE(again.of_lane);
  EXPECT_TRUE(fs::exists(again.path + "/old"));
  EXPECT_EQ(take(attempt_in_step_3(2)).path, job() + "/tasks/3.2")
      << "the lane's folder still waits";
}

TEST_F(FoldersTest, EmptyLanesGoAndOthersStay) {
  folders_.give_back(0, take(attempt_in_step_3(1)));
  folders_.remove_lanes();
  EXPECT_FALSE(fs::exists(job() + "/lanes"));
  leave(take(attempt_in_step_3(2)).path + "/used");
  folders_.remove_lanes();
  EXPECT_TRUE(fs::exists(job() + "/tasks/3.2/used"));
}

TEST_F(FoldersTest, MakesAllThatIsMissing) {
  EXPECT_TRUE(env::make_directories(home_.path() + "/a/b/c").ok());
  EXPECT_TRUE(env::make_directories(home_.path() + "/a/b/c").ok());
  leave(home_.path() + "/file");
  EXPECT_FALSE(env::make_directories(home_.path() + "/file/below").ok());
}

}  // namespace
}  // namespace runnel::runner
