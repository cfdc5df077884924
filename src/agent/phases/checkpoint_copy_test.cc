#include "agent/phases/checkpoint_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "runner/testing/runner_process.h"

namespace runnel::agent {
namespace {

class CheckpointCopyTest : public ::testing::Test {
 protected:
  CheckpointCopyTest() {
    write("donor/ckpt/model", "good");
    write("donor/ckpt/parts/1", "one");
    write("member/ckpt/model", "bad");
    write("member/ckpt/own", "left over");
  }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    MUST(env::write_file_atomically(at(name), text));
  }
  std::string at(const std::string& name) const { return home_.path() + "/" + name; }
  std::string text(const std::string& name) const {
    return env::read_file(at(name)).value_or("nothing");
  }
  CheckpointCopy copy(std::int64_t number = 1) const {
    return {at("donor/ckpt"), at("member/ckpt"), at("member"), "member", number};
  }

  env::testing::TemporaryDirectory home_;
};

TEST_F(CheckpointCopyTest, TakesTheWholePlace) {
  ASSERT_TRUE(copy_checkpoint(copy()).ok());
  EXPECT_EQ(text("member/ckpt/model"), "good");
  EXPECT_EQ(text("member/ckpt/parts/1"), "one");
  EXPECT_FALSE(env::exists(at("member/ckpt/own")));
  EXPECT_EQ(text("donor/ckpt/model"), "good");
  EXPECT_FALSE(env::exists(at("member/.runnel-copy-member")));
}

TEST_F(CheckpointCopyTest, IsMadeOnce) {
  ASSERT_TRUE(copy_checkpoint(copy(1)).ok());
  write("member/ckpt/model", "better");
  ASSERT_TRUE(copy_checkpoint(copy(1)).ok());
  EXPECT_EQ(text("member/ckpt/model"), "better");
  ASSERT_TRUE(copy_checkpoint(copy(2)).ok());
  EXPECT_EQ(text("member/ckpt/model"), "good");
}

TEST_F(CheckpointCopyTest, GoesOnAfterADeathInBetween) {
  write("member/.runnel-copy-member/model", "half");
  ASSERT_TRUE(copy_checkpoint(copy()).ok());
  EXPECT_EQ(text("member/ckpt/model"), "good");
  EXPECT_FALSE(env::exists(at("member/.runnel-copy-member")));
}

// Several jobs may link their checkpoint folders into one.
TEST_F(CheckpointCopyTest, TakesBackItsOwnOnly) {
  write("member/.runnel-copy-another/model", "half");
  write("member/.runnel-copy-member/model", "half");
  ASSERT_TRUE(remove_half_copy(copy()).ok());
  EXPECT_FALSE(env::exists(at("member/.runnel-copy-member")));
  EXPECT_EQ(text("member/.runnel-copy-another/model"), "half");
}

TEST_F(CheckpointCopyTest, OfNothingLeavesWhatIsThere) {
  std::filesystem::remove_all(at("donor/ckpt"));
  ASSERT_TRUE(copy_checkpoint(copy()).ok());
  EXPECT_EQ(text("member/ckpt/model"), "bad");
}

TEST_F(CheckpointCopyTest, OfADeletedJobMakesNothing) {
  std::filesystem::remove_all(home_.path());
  EXPECT_FALSE(copy_checkpoint(copy()).ok());
  EXPECT_FALSE(env::exists(home_.path()));
}

TEST_F(CheckpointCopyTest, ToWhatIsNoFolderIsRefusedForGood) {
  std::filesystem::remove_all(at("member/ckpt"));
  write("member/ckpt", "a file");
  const Result<void> refused = copy_checkpoint(copy());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_EQ(refused.error().message, at("member/ckpt") + " is a file, not a folder");
  EXPECT_EQ(text("member/ckpt"), "a file");
}

TEST_F(CheckpointCopyTest, FollowsALinkToAnotherDisk) {
  std::filesystem::rename(at("member/ckpt"), at("disk"));
  std::filesystem::create_directory_symlink(at("disk"), at("member/ckpt"));
  ASSERT_TRUE(copy_checkpoint(copy()).ok());
  EXPECT_EQ(text("disk/model"), "good");
  EXPECT_TRUE(std::filesystem::is_symlink(at("member/ckpt")));
}

// The donor saves two files that belong together, again and again; a copy has them of one saving.
TEST_F(CheckpointCopyTest, NeverTakesHalfOfASaving) {
  write("donor/ckpt/a", "0");
  write("donor/ckpt/b", "0");
  std::atomic<bool> over = false;
  std::thread donor([&] {
    for (int saved = 1; !over; ++saved) {
      write("donor/ckpt/a", std::to_string(saved));
      write("donor/ckpt/b", std::to_string(saved));
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  });
  int made = 0;
  for (std::int64_t number = 1; number <= 60; ++number) {
    const Result<void> copied = copy_checkpoint(copy(number));
    if (!copied.ok()) {  // Also when a file was renamed before it could be read.
      EXPECT_EQ(copied.error().code, Errc::kUnavailable) << copied.error().to_string();
      continue;
    }
    ++made;
    // A copy may begin between the two files of one saving.
    const int a = std::stoi(text("member/ckpt/a"));
    const int b = std::stoi(text("member/ckpt/b"));
    EXPECT_TRUE(a == b || a == b + 1) << a << " and " << b;
  }
  over = true;
  donor.join();
  EXPECT_GT(made, 10);
}

// Each write sets its time, and nothing of it is copied.
TEST_F(CheckpointCopyTest, AFifoThatIsInUseHoldsUpNoCopy) {
  write("donor/ckpt/large", std::string(4 << 20, 'x'));
  ASSERT_EQ(::mkfifo(at("donor/ckpt/fifo").c_str(), 0600), 0);
  const int fifo = ::open(at("donor/ckpt/fifo").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fifo, 0);
  std::atomic<bool> over = false;
  std::thread donor([&] {
    char byte = 0;
    while (!over && ::write(fifo, &byte, 1) == 1 && ::read(fifo, &byte, 1) == 1) {
    }
  });
  int made = 0;
  for (std::int64_t number = 1; number <= 10; ++number) {
    made += copy_checkpoint(copy(number)).ok() ? 1 : 0;
  }
  over = true;
  donor.join();
  ::close(fifo);
  EXPECT_EQ(made, 10);
}

}  // namespace
}  // namespace runnel::agent
