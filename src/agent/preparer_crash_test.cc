#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agent/place.h"
#include "agent/preparer.h"
#include "agent/used_mounts.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "base/check.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "output/paths.h"

// Tests that need whole processes: kill -9 of an agent between any two changes that making an
// attempt ready makes to the disk.
namespace {

// How many names are still made, changed or removed before the process dies; less than 0: it lives.
std::atomic<int> changes_until_death{-1};
constexpr int kDied = 9;

void change_the_disk() {
  if (changes_until_death < 0) return;
  if (changes_until_death-- == 0) ::_exit(kDied);
}

}  // namespace

// In place of the C library's, for all of this test's program.
extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  change_the_disk();
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

extern "C" int renameat2(int from_in, const char* from, int to_in, const char* to,
                         unsigned flags) noexcept {
  change_the_disk();
  return static_cast<int>(::syscall(SYS_renameat2, from_in, from, to_in, to, flags));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

extern "C" int unlinkat(int folder, const char* path, int flags) noexcept {
  change_the_disk();
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}

extern "C" int unlink(const char* path) noexcept { return unlinkat(AT_FDCWD, path, 0); }

extern "C" int fsync(int file) {
  change_the_disk();
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace runnel::agent {
namespace {

using Standing = Preparer::Standing;

// Whether the work came to its end, in a process of its own that may die before.
bool ends(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  CHECK(child > 0, "the machine starts a process; -1 would mean every process");
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kDied) << WEXITSTATUS(status);
  return WEXITSTATUS(status) == 0;
}

// One life of an agent, as far as making ready goes.
struct Life {
  explicit Life(const std::string& home)
      : preparer(*loop, env::real_clock(), home, {}, nullptr, {"/bin/true"}) {}

  Result<Preparer::Prepared> prepare(const model::StartOrder& order) {
    return loop->block_on(preparer.prepare(NodeId("n1"), order, {}));
  }
  void settle(Standing standing) {
    const auto standing_of = [standing](const runner::AttemptOnNode&) { return standing; };
    MUST(loop->block_on(preparer.take_back_unwanted(standing_of, {})));
  }

  std::unique_ptr<async::EventLoop> loop = MUST(async::EventLoop::create());
  Preparer preparer;
};

// A member of a population, which begins with the checkpoint of another.
class PreparerCrash : public ::testing::Test {
 protected:
  PreparerCrash() {
    order_.attempt = {{JobId("job"), StepIndex(0), TaskIndex(1)}, AttemptNumber(2)};
    order_.argv = {"true"};
    order_.workdir = "/";
    order_.keep_task_dir = true;
    order_.checkpoint_from =
        model::CheckpointSource{{JobId("job"), StepIndex(0), TaskIndex(0)}, "", 1};
  }

  void begin_again() {
    std::filesystem::remove_all(home_.path() + "/jobs");
    std::filesystem::remove_all(records_.folder());
    write(0, "model", "theirs");
    write(0, "parts/1", "theirs");
    write(1, "model", "own");
    write(1, "kept", "own");
  }
  // Whether it came to its end, of a life that dies before the change after so many.
  bool prepares_within(int changes) {
    return ends([&] {
      Life life(home_.path());
      changes_until_death = changes;
      return life.prepare(order_).ok();
    });
  }

  std::string checkpoint(std::int64_t task) const {
    return output::task_folder(home_.path(), {JobId("job"), StepIndex(0), TaskIndex(task)}) + "/" +
           checkpoint_dir("");
  }
  void write(std::int64_t task, const std::string& name, const std::string& text) const {
    const std::filesystem::path path = checkpoint(task) + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    MUST(env::write_file_atomically(path, text));
  }
  std::string own(const std::string& name) const {
    return env::read_file(checkpoint(1) + "/" + name).value_or("none");
  }
  bool has_the_copy() const {
    return own("model") == "theirs" && own("parts/1") == "theirs" && own("kept") == "none";
  }
  bool is_untouched() const {
    return own("model") == "own" && own("parts/1") == "none" && own("kept") == "own";
  }
  // Names in the folder of the task that begin so.
  std::size_t left(const std::string& prefix) const {
    std::size_t count = 0;
    for (const std::string& name : MUST(env::list_directory(env::parent_of(checkpoint(1))))) {
      if (name.starts_with(prefix)) ++count;
    }
    return count;
  }
  std::size_t records() const { return MUST(records_.all()).records.size(); }

  env::testing::TemporaryDirectory home_;
  PreparationRecords records_{home_.path()};
  model::StartOrder order_;
};

TEST_F(PreparerCrash, KilledAtAnyChangeAnAttemptThatDoesNotBeginLeavesNothingByHalf) {
  int halves = 0;
  int changes = 0;
  for (bool whole = false; !whole; ++changes) {
    SCOPED_TRACE("killed after " + std::to_string(changes) + " changes");
    begin_again();
    whole = prepares_within(changes);
    EXPECT_TRUE(has_the_copy() || is_untouched());
    halves += static_cast<int>(left(".runnel-copy"));
    Life next(home_.path());
    next.settle(Standing::kGone);
    EXPECT_EQ(left(".runnel-copy"), 0U);
    EXPECT_TRUE(has_the_copy() || is_untouched());
    EXPECT_TRUE(env::list_directory(records_.folder()).value_or({}).empty());
  }
  EXPECT_GT(changes, 10);
  EXPECT_GT(halves, 3) << "without a record on the disk they would stay";
}

TEST_F(PreparerCrash, KilledAtAnyChangeAnAttemptThatIsOrderedAgainHasAllItsParts) {
  for (int changes = 0;; ++changes) {
    SCOPED_TRACE("killed after " + std::to_string(changes) + " changes");
    begin_again();
    const bool whole = prepares_within(changes);
    Life next(home_.path());
    next.settle(Standing::kOrdered);
    MUST(next.prepare(order_));
    EXPECT_TRUE(has_the_copy());
    EXPECT_EQ(left(".runnel-copy"), 0U);
    EXPECT_EQ(records(), 1U) << "it has not begun";
    MUST(next.loop->block_on(next.preparer.hand_over_parts({NodeId("n1"), order_.attempt})));
    EXPECT_EQ(records(), 0U);
    if (whole) break;
  }
}

TEST_F(PreparerCrash, WhatCannotBeTakenBackIsToldAndTriedAgain) {
  begin_again();
  MUST(records_.keep({NodeId("n1"), order_}));
  const std::string folder = env::parent_of(checkpoint(1));
  std::filesystem::remove_all(checkpoint(1));
  std::filesystem::create_symlink(checkpoint(1), checkpoint(1));
  Life life(home_.path());
  life.settle(Standing::kGone);
  const std::vector<std::string> notices = life.preparer.notices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_NE(notices[0].find("attempt 2 of task 1 of job job"), std::string::npos) << notices[0];
  EXPECT_NE(notices[0].find(folder), std::string::npos) << notices[0];
  EXPECT_EQ(records(), 1U);
  std::filesystem::remove(checkpoint(1));
  life.settle(Standing::kGone);
  EXPECT_TRUE(life.preparer.notices().empty());
  EXPECT_EQ(records(), 0U);
}

TEST_F(PreparerCrash, WhatCouldNotBeTakenBackIsTriedAgainInTheSameLife) {
  begin_again();
  EXPECT_TRUE(prepares_within(1'000));
  std::filesystem::remove_all(checkpoint(1));
  std::filesystem::create_symlink(checkpoint(1), checkpoint(1));
  Life life(home_.path());
  life.settle(Standing::kGone);
  ASSERT_EQ(life.preparer.notices().size(), 1U);
  std::filesystem::remove(checkpoint(1));
  async::StopSource stop;
  async::Gate gate(*life.loop);
  const auto gone = [](const runner::AttemptOnNode&) { return Standing::kGone; };
  MUST(life.loop->spawn(gate,
                        life.preparer.keep_taking_back(gone, Duration::millis(1), stop.token())));
  for (int i = 0; i < 5'000 && !life.preparer.notices().empty(); ++i) {
    MUST(life.loop->block_on(life.loop->sleep(Duration::millis(2))));
  }
  EXPECT_TRUE(life.preparer.notices().empty());
  EXPECT_EQ(records(), 0U);
  stop.stop();
  MUST(life.loop->block_on(gate.close()));
}

TEST_F(PreparerCrash, AnAttemptThatBeganKeepsItsParts) {
  begin_again();
  EXPECT_TRUE(prepares_within(1'000));
  ASSERT_EQ(records(), 1U);
  Life next(home_.path());
  next.settle(Standing::kBegun);
  EXPECT_TRUE(has_the_copy());
  EXPECT_EQ(records(), 0U);
}

// What is used until an attempt's end, here a volume, is let go of then, whoever lives to see it.
TEST_F(PreparerCrash, PartsThatLastAreTakenBackAtTheEnd) {
  order_.checkpoint_from.reset();
  order_.volumes = {{"data", "fashion", "0123456789abcdef", "file:///volumes"}};
  const runner::AttemptOnNode of{NodeId("n1"), order_.attempt};
  const auto is_used = [&] {
    return MUST(UsedMounts::is_used(UsedMounts(home_.path()).place_of(order_.volumes[0])));
  };
  for (const bool is_killed : {false, true}) {
    Life first(home_.path());
    MUST(first.prepare(order_));
    MUST(first.loop->block_on(first.preparer.hand_over_parts(of)));
    EXPECT_TRUE(first.preparer.has_lasting_parts(of));
    EXPECT_TRUE(is_used());
    if (!is_killed) MUST(first.loop->block_on(first.preparer.end(of)));
    Life next(home_.path());
    next.settle(Standing::kBegun);
    EXPECT_EQ(is_used(), is_killed);
    EXPECT_EQ(next.preparer.has_lasting_parts(of), is_killed);
    Life last(home_.path());
    last.settle(Standing::kGone);
    EXPECT_FALSE(is_used());
    EXPECT_EQ(records(), 0U);
  }
}

TEST_F(PreparerCrash, KilledAtAnyChangeNoUseOfAVolumeStaysForGood) {
  order_.checkpoint_from.reset();
  order_.volumes = {{"data", "fashion", "0123456789abcdef", "file:///volumes"}};
  const std::string place = UsedMounts(home_.path()).place_of(order_.volumes[0]);
  for (int changes = 0;; ++changes) {
    SCOPED_TRACE("killed after " + std::to_string(changes) + " changes");
    const bool whole = prepares_within(changes);
    Life next(home_.path());
    next.settle(Standing::kGone);
    EXPECT_FALSE(env::exists(place));
    EXPECT_EQ(records(), 0U);
    if (whole) break;
  }
}

// A version that was copied, which goes with its last use.
class CopyCrash : public ::testing::Test {
 protected:
  static constexpr std::size_t kFiles = 5;

  void copy() const {
    std::filesystem::create_directories(place_ + "/uses");
    std::filesystem::create_directories(UsedMounts::tree_of(place_));
    for (std::size_t number = 0; number < kFiles; ++number) {
      MUST(env::append_file(UsedMounts::tree_of(place_) + "/" + std::to_string(number), "text"));
    }
    MUST(UsedMounts::mark_copy(place_));
  }
  bool removes() const {
    return mounts_.remove_unused(place_, [] { return Result<void>(); }).ok();
  }
  std::size_t files() const {
    return env::list_directory(UsedMounts::tree_of(place_)).value_or({}).size();
  }

  env::testing::TemporaryDirectory home_;
  const UsedMounts mounts_{home_.path()};
  const std::string place_ =
      mounts_.place_of({"data", "fashion", "0123456789abcdef", "file:///volumes"});
};

TEST_F(CopyCrash, KilledAtAnyChangeOfItsRemovalNoHalfIsTakenForWhole) {
  std::size_t fewest = kFiles;
  for (int changes = 0;; ++changes) {
    SCOPED_TRACE("killed after " + std::to_string(changes) + " changes");
    copy();
    const bool whole = ends([&] {
      changes_until_death = changes;
      return removes();
    });
    if (UsedMounts::is_copy(place_)) EXPECT_EQ(files(), kFiles);
    fewest = std::min(fewest, files());
    EXPECT_EQ(MUST(mounts_.places()).size(), env::exists(place_) ? 1U : 0U) << "it is found again";
    EXPECT_TRUE(removes());
    EXPECT_FALSE(env::exists(place_));
    if (whole) break;
  }
  EXPECT_EQ(fewest, 0U);
}

}  // namespace
}  // namespace runnel::agent
