#include "env/remove_tree.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

class RemoveTreeTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  void make(const std::string& name) const {
    MUST(make_directories(parent_of(file(name))));
    MUST(append_file(file(name), "x"));
  }

  testing::TemporaryDirectory folder_;
};

TEST_F(RemoveTreeTest, FollowsNoLink) {
  make("kept/file");
  make("tree/a/file");
  ASSERT_EQ(::symlink(file("kept").c_str(), file("tree/link").c_str()), 0);
  MUST(remove_tree(file("tree/link")));
  ASSERT_EQ(::symlink(file("kept").c_str(), file("tree/link").c_str()), 0);
  MUST(remove_tree(file("tree") + "//"));
  EXPECT_FALSE(exists(file("tree")));
  EXPECT_TRUE(exists(file("kept/file")));
  MUST(remove_tree(file("tree")));
  MUST(remove_tree(file("tree/never/was")));
  MUST(remove_tree(file("kept/file")));
  EXPECT_FALSE(exists(file("kept/file")));
  EXPECT_EQ(remove_tree("/").error().code, Errc::kInvalid);
}

// In a process of its own: a mount namespace is not given back.
int remove_beside_a_mount(const std::string& tree, const std::string& precious) {
  if (::unshare(CLONE_NEWNS) != 0) return 77;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  const std::string place = tree + "/a/mounted";
  if (::mount(precious.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
  const Result<void> removed = remove_tree(tree);
  if (removed.ok() || removed.error().code != Errc::kConflict) return 1;
  if (removed.error().value != place || !exists(precious + "/file")) return 2;
  const Result<void> itself = remove_tree(place);
  if (itself.ok() || itself.error().code != Errc::kConflict) return 3;
  if (!exists(precious + "/file")) return 4;
  ::umount(place.c_str());
  return remove_tree(tree).ok() && !exists(tree) ? 0 : 5;
}

TEST_F(RemoveTreeTest, LeavesWhatIsMountedInItAlone) {
  make("precious/file");
  make("tree/a/mounted/hidden");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(remove_beside_a_mount(file("tree"), file("precious")));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

int remove_as_nobody(const std::string& tree) {
  constexpr uid_t kNobody = 65'534;
  if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return 77;
  return remove_tree(tree).ok() ? 0 : 1;
}

TEST_F(RemoveTreeTest, OpensFoldersThatTheirOwnerClosed) {
  make("tree/ro/x/file");
  make("tree/none/file");
  if (::geteuid() == 0) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      ASSERT_EQ(::lchown(entry.path().c_str(), 65'534, 65'534), 0);
    }
    ASSERT_EQ(::chown(folder_.path().c_str(), 65'534, 65'534), 0);
  }
  ASSERT_EQ(::chmod(file("tree/ro/x").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(file("tree/ro").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(file("tree/none").c_str(), 0), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(remove_as_nobody(file("tree")));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(exists(file("tree")));
}

TEST_F(RemoveTreeTest, OfAnyDepth) {
  MUST(make_directories(file("tree")));
  int folder = ::open(file("tree").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_EQ(::mkdirat(folder, "deeper", 0700), 0);
    const int below = ::openat(folder, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(folder);
    folder = below;
  }
  ::close(folder);
  MUST(remove_tree(file("tree")));
  EXPECT_TRUE(MUST(list_directory(folder_.path())).empty());
}

}  // namespace
}  // namespace runnel::env
