#include "object/local/object_folder.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "async/unique_fd.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "env/held_blocks.h"
#include "env/process.h"
#include "env/testing/length_limit.h"
#include "env/testing/temporary_directory.h"

namespace runnel::object {
namespace {

class ObjectFolderTest : public ::testing::Test {
 protected:
  std::string own(const std::string& name) const { return folder_.path() + "/.runnel/" + name; }
  bool has_temporary() const {
    const std::vector<std::string> names = MUST(env::list_directory(folder_.path() + "/.runnel"));
    return std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name != "lock" && name != "reserve" && name != "inodes";
    });
  }

  env::testing::TemporaryDirectory folder_;
  ObjectFolder objects_ = MUST(ObjectFolder::open(folder_.path()));
};

TEST_F(ObjectFolderTest, KeepsAnObjectAsAFileOfItsKey) {
  MUST(objects_.put("v/p/1", "bytes", Condition::absent()));
  EXPECT_EQ(MUST(env::read_file(folder_.path() + "/v/p/1")), "bytes");
  EXPECT_EQ(MUST(env::file_info(folder_.path() + "/v/p/1")).mode & 0077U, 0U);
  EXPECT_FALSE(has_temporary());
}

// By the time of day it may be as old as it likes: of a server whose clock is behind, or before a
// clock was set.
TEST_F(ObjectFolderTest, WhatSomebodyStillWritesIsNotSweptAway) {
  const std::string held = own(std::string(32, 'a'));
  const std::string left = own(std::string(32, 'b'));
  for (const std::string& file : {held, left}) {
    MUST(env::write_file_atomically(file, "part"));
    const timespec old{.tv_sec = ::time(nullptr) - 3 * 86'400, .tv_nsec = 0};
    const std::array<timespec, 2> times{old, old};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times.data(), 0), 0);
  }
  {
    const async::UniqueFd writer(::open(held.c_str(), O_WRONLY));
    ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
    MUST(ObjectFolder::open(folder_.path()));
    EXPECT_TRUE(env::exists(held));
    EXPECT_FALSE(env::exists(left));
  }
  MUST(ObjectFolder::open(folder_.path()));
  EXPECT_FALSE(env::exists(held));
}

// What a process of another user answers with.
template <typename Work>
bool as_user(uid_t user, gid_t group, Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::umask(0077);
    const bool is_user = ::setgroups(0, nullptr) == 0 && ::setresgid(group, group, group) == 0 &&
                         ::setresuid(user, user, user) == 0;
    ::_exit(is_user && work() ? 0 : 1);
  }
  int status = 1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status == 0;
}

TEST_F(ObjectFolderTest, AFolderThatAGroupMayWriteIsAStoreOfAll) {
  if (!env::is_root()) GTEST_SKIP() << "only root can be several users";
  constexpr gid_t kGroup = 54'321;
  const std::string path = folder_.path() + "/shared";
  MUST(env::make_directories(path));
  ASSERT_EQ(::chown(path.c_str(), 1, kGroup), 0);
  ASSERT_EQ(::chmod(path.c_str(), 02770), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  const auto swap = [&path](const std::string& from, const std::string& to) {
    const Result<ObjectFolder> store = ObjectFolder::open(path);
    const Result<Object> now = store.ok() ? store->get("v/head", 10) : store.error();
    if (!store.ok() || (now.ok() ? now->bytes : "") != from) return false;
    const Condition condition = now.ok() ? Condition::matches(now->etag) : Condition::absent();
    return store->put("v/head", to, condition).ok();
  };
  EXPECT_TRUE(as_user(2, kGroup, [&] { return swap("", "of two"); }));
  EXPECT_TRUE(as_user(3, kGroup, [&] { return swap("of two", "of three"); }));
  EXPECT_TRUE(as_user(2, kGroup, [&] { return swap("of three", "of two"); }));
  EXPECT_TRUE(as_user(3, kGroup, [&] {
    const Result<ObjectFolder> store = ObjectFolder::open(path);
    return store.ok() && store->remove("v/head").ok();
  }));
  EXPECT_FALSE(as_user(4, 4, [&] { return swap("", "of a stranger"); }));
  EXPECT_EQ(MUST(env::file_info(path + "/v")).mode, 02770U);
  EXPECT_EQ(MUST(env::file_info(path + "/.runnel/lock")).mode, 0660U);
}

// As /tmp, and as folders are made by most umasks.
TEST_F(ObjectFolderTest, OtherFoldersAreSharedWithNobody) {
  for (const mode_t mode : {03777, 01777, 0777, 0775, 0755, 02755}) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), mode), 0);
    const std::string key = "v/" + std::to_string(mode);
    MUST(MUST(ObjectFolder::open(folder_.path())).put(key, "1", Condition::absent()));
    for (const std::string& path :
         {key, std::string("v"), std::string(".runnel"), std::string(".runnel/lock")}) {
      EXPECT_EQ(MUST(env::file_info(folder_.path() + "/" + path)).mode & 0077U, 0U) << path;
    }
  }
}

TEST_F(ObjectFolderTest, ALinkInThePlaceOfItsOwnFolderIsRefused) {
  const std::string store = folder_.path() + "/store";
  const std::string victim = folder_.path() + "/victim";
  MUST(env::make_directories(store));
  MUST(env::make_directories(victim));
  const std::string temporary = victim + "/" + std::string(32, 'a');
  MUST(env::write_file_atomically(temporary, "precious"));
  std::filesystem::last_write_time(temporary, std::filesystem::file_time_type::min());
  ASSERT_EQ(::symlink(victim.c_str(), (store + "/.runnel").c_str()), 0);
  const Error error = ObjectFolder::open(store).error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.value, store + "/.runnel");
  EXPECT_EQ(MUST(env::list_directory(victim)), std::vector<std::string>{std::string(32, 'a')});
}

// As that of a disk which is not mounted now.
TEST_F(ObjectFolderTest, OnlyAPutMakesAFolderThatIsNotThere) {
  const std::string path = folder_.path() + "/disk/store";
  const ObjectFolder store = MUST(ObjectFolder::open(path));
  const Error error = store.get("v/head", 10).error();
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_EQ(error.hint, "there is no folder " + path + ": is its disk mounted?");
  EXPECT_TRUE(MUST(store.list("", "")).objects.empty());
  MUST(store.remove("v/head"));
  EXPECT_FALSE(env::exists(folder_.path() + "/disk"));
  MUST(store.put("v/head", "1", Condition::absent()));
  EXPECT_EQ(MUST(store.get("v/head", 10)).bytes, "1");
  EXPECT_TRUE(env::exists(path + "/.runnel/reserve"));
  const ObjectFolder there = MUST(ObjectFolder::open(path));
  std::filesystem::remove_all(path);
  EXPECT_FALSE(there.put("v/head", "1", Condition::absent()).ok());
  EXPECT_FALSE(env::exists(path)) << "its disk was taken away";
}

TEST_F(ObjectFolderTest, RemovesOnlyTemporariesThatWereLeftADayAgo) {
  const std::string left(32, '0');
  const std::string of_now(32, '1');
  const std::string not_ours(31, '0');
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(25);
  for (const std::string& name : {left, of_now, not_ours}) {
    MUST(env::write_file_atomically(own(name), "1"));
    if (name != of_now) std::filesystem::last_write_time(own(name), long_ago);
  }
  MUST(ObjectFolder::open(folder_.path()));
  EXPECT_FALSE(env::exists(own(left)));
  EXPECT_TRUE(env::exists(own(of_now)));
  EXPECT_TRUE(env::exists(own(not_ours)));
}

TEST_F(ObjectFolderTest, WhatElseLiesAmongTemporariesKeepsNobodyOut) {
  MUST(env::make_directories(own("somebody's")));
  for (const char* name : {"somebody's", "inodes"}) {
    std::filesystem::last_write_time(
        own(name), std::filesystem::file_time_type::clock::now() - std::chrono::hours(48));
  }
  MUST(ObjectFolder::open(folder_.path()));
  EXPECT_TRUE(env::exists(own("somebody's")));
}

TEST_F(ObjectFolderTest, LeavesNothingOfAPutThatTheDiskRefuses) {
  {
    const env::testing::LengthLimit full(Bytes::count(10));
    EXPECT_FALSE(objects_.put("a", std::string(100, 'x'), Condition::absent()).ok());
  }
  EXPECT_FALSE(has_temporary());
  EXPECT_EQ(objects_.get("a", 1'000).error().code, Errc::kNotFound);
}

TEST_F(ObjectFolderTest, HoldsAReserveThatComesBackOnceItWasGivenUp) {
  EXPECT_GE(MUST(env::allocated(own("reserve"))), ObjectFolder::kReserve);
  EXPECT_EQ(MUST(env::list_directory(own("inodes"))).size(), ObjectFolder::kReservedInodes);
  objects_.give_up_reserve();
  EXPECT_FALSE(env::exists(own("reserve")));
  EXPECT_FALSE(env::exists(own("inodes")));
  MUST(ObjectFolder::open(folder_.path()));
  EXPECT_GE(MUST(env::allocated(own("reserve"))), ObjectFolder::kReserve);
}

TEST_F(ObjectFolderTest, AWriterThatStandsStillIsNamedAndHoldsNobodyForEver) {
  MUST(objects_.put("head", "0", Condition::none()));
  std::optional<env::FileLock> stands_still = MUST(env::FileLock::acquire(own("lock")));
  const Result<std::string> swapped = objects_.put("head", "1", Condition::none());
  ASSERT_FALSE(swapped.ok());
  EXPECT_EQ(swapped.error().code, Errc::kIo) << "nothing was done, so nobody need ask what became";
  EXPECT_NE(swapped.error().hint.find("another writer"), std::string::npos);
  EXPECT_EQ(MUST(objects_.get("head", 10)).bytes, "0");
  stands_still.reset();
  MUST(objects_.put("head", "1", Condition::none()));
}

TEST_F(ObjectFolderTest, SwapsOfManyThreadsAreOneAfterAnother) {
  std::string etag = MUST(objects_.put("head", "0", Condition::absent()));
  std::vector<std::optional<std::string>> won(8);
  std::vector<std::thread> writers;
  for (std::size_t number = 0; number < won.size(); ++number) {
    writers.emplace_back([&, number] {
      const std::string bytes = std::to_string(number + 1);
      const auto swapped = objects_.put("head", bytes, Condition::matches(etag));
      if (swapped.ok()) won[number] = bytes;
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string now = MUST(objects_.get("head", 10)).bytes;
  for (const auto& bytes : won) {
    if (bytes) EXPECT_EQ(*bytes, now);
  }
  EXPECT_NE(now, "0");
}

TEST_F(ObjectFolderTest, APipeInAnObjectsPlaceHoldsNobodyUp) {
  ASSERT_EQ(::mkfifo((folder_.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(objects_.get("pipe", 10).error().code, Errc::kInvalid);
  EXPECT_TRUE(MUST(objects_.list("", "")).objects.empty());
}

}  // namespace
}  // namespace runnel::object
