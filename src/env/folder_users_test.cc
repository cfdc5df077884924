#include "env/folder_users.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "env/files.h"

namespace runnel::env {
namespace {

class FolderUsersTest : public ::testing::Test {
 protected:
  FolderUsersTest() {
    MUST(write_file_atomically(file_, "content"));
    MUST(write_file_atomically(folder_ + "-beside", "another folder's name begins the same"));
  }
  ~FolderUsersTest() override {
    MUST(remove_file(folder_ + "-beside"));
    MUST(remove_file(file_));
    ::rmdir(folder_.c_str());
  }

  // What this process has there; "" when it is not among its users.
  std::string ours() const {
    for (const FolderUser& user : folder_users(folder_)) {
      if (user.pid == ::getpid()) return user.path;
    }
    return "";
  }

  const std::string folder_ = MUST(real_path(MUST(make_temporary_directory("runnel-users-"))));
  const std::string file_ = folder_ + "/file";
};

TEST_F(FolderUsersTest, NamesWhoHasAFileOpenOrMapped) {
  EXPECT_EQ(ours(), "");
  const int beside = ::open((folder_ + "-beside").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(ours(), "");
  const int descriptor = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(ours(), file_);
  void* const mapped = ::mmap(nullptr, 7, PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  EXPECT_EQ(ours(), file_);
  ::munmap(mapped, 7);
  EXPECT_EQ(ours(), "");
  ::close(beside);
}

TEST_F(FolderUsersTest, NamesWhoStandsInIt) {
  const int before = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::chdir(folder_.c_str()), 0);
  EXPECT_EQ(ours(), folder_);
  ASSERT_EQ(::fchdir(before), 0);
  ::close(before);
  EXPECT_EQ(ours(), "");
}

}  // namespace
}  // namespace runnel::env
