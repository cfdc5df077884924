#include "object/local/object_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "env/file_lock.h"
#include "env/files.h"
#include "env/held_blocks.h"
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
