#include "home/place.h"

#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::home {
namespace {

constexpr env::FileId kFirst{7, 100};
constexpr env::FileId kSecond{7, 200};
const HomePlace kRecorded{"/home/me/.runnel", kFirst, "boot-1"};

HomePlace at(const std::string& path, env::FileId folder, const std::string& boot = "boot-1") {
  return {path, folder, boot};
}

TEST(HomePlace, AHomeThatStayedIsItself) {
  EXPECT_EQ(origin_of(kRecorded, kRecorded, kFirst), HomeOrigin::kOwn);
  const HomePlace link = at("/another/way", kFirst);
  EXPECT_EQ(origin_of(kRecorded, link, kFirst), HomeOrigin::kOwn) << "by a link";
}

TEST(HomePlace, ACopyBesideTheHomeIsACopy) {
  EXPECT_EQ(origin_of(kRecorded, at("/backup", kSecond), kFirst), HomeOrigin::kCopy);
}

TEST(HomePlace, AHomeThatWasMovedGoesOn) {
  EXPECT_EQ(origin_of(kRecorded, at("/moved", kFirst), std::nullopt), HomeOrigin::kOwn);
  const HomePlace other_disk = at("/mnt/moved", {9, 55});
  EXPECT_EQ(origin_of(kRecorded, other_disk, std::nullopt), HomeOrigin::kOwn) << "copied, removed";
  EXPECT_EQ(origin_of(kRecorded, other_disk, env::FileId{7, 300}), HomeOrigin::kOwn)
      << "and a new home is where it was";
}

TEST(HomePlace, AHomeThatWasRestoredInItsPlaceGoesOn) {
  EXPECT_EQ(origin_of(kRecorded, at(kRecorded.path, kSecond), kSecond), HomeOrigin::kOwn);
}

TEST(HomePlace, DevicesHaveOtherNumbersAfterABoot) {
  const env::FileId first{8, kFirst.inode};
  const env::FileId second{8, kSecond.inode};
  EXPECT_EQ(origin_of(kRecorded, at(kRecorded.path, first, "boot-2"), first), HomeOrigin::kOwn);
  EXPECT_EQ(origin_of(kRecorded, at("/backup", second, "boot-2"), first), HomeOrigin::kCopy);
  EXPECT_EQ(origin_of(kRecorded, at("/moved", first, "boot-2"), std::nullopt), HomeOrigin::kOwn);
}

TEST(HomePlace, ASnapshotBesideTheHomeIsACopyAfterABootToo) {
  const env::FileId original{8, kFirst.inode};
  const env::FileId snapshot{9, kFirst.inode};
  EXPECT_EQ(origin_of(kRecorded, at("/mnt/snapshot", snapshot, "boot-2"), original),
            HomeOrigin::kCopy);
  EXPECT_EQ(origin_of(kRecorded, at(kRecorded.path, original, "boot-2"), original),
            HomeOrigin::kOwn);
}

TEST(HomePlace, AnEqualInodeOfAnotherDiskIsAnotherFolder) {
  EXPECT_EQ(origin_of(kRecorded, at("/mnt/copy", {9, kFirst.inode}), kFirst), HomeOrigin::kCopy);
}

TEST(HomePlace, WhatIsServedIsGoneWhenAnotherOrNothingIsInItsPlace) {
  const env::testing::TemporaryDirectory folder;
  const Home home{folder.path() + "/home"};
  const Home aside{folder.path() + "/aside"};
  MUST(env::make_directories(home.root));
  MUST(env::write_file_atomically(home.event_log(), "log"));
  const Served own = MUST(served_now(home));
  EXPECT_EQ(why_not_there(home, own), "");
  MUST(env::rename_file(home.root, aside.root));
  EXPECT_NE(why_not_there(home, own), "");
  MUST(env::make_directories(home.root));
  EXPECT_NE(why_not_there(home, own), "");
  EXPECT_EQ(why_not_there(aside, own), "");
  EXPECT_EQ(why_not_there({std::string(5'000, 'x')}, own), "") << "nobody can tell";
  MUST(env::rename_file(aside.event_log(), aside.event_log() + ".old"));
  EXPECT_NE(why_not_there(aside, own).find(aside.event_log()), std::string::npos);
  MUST(env::write_file_atomically(aside.event_log(), "another"));
  EXPECT_NE(why_not_there(aside, own), "");
}

TEST(HomePlace, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_place(place_text(kRecorded)), kRecorded);
  for (const char* text : {"", "{", "{}", "[1]", "\"x\""}) EXPECT_FALSE(parse_place(text)) << text;
}

}  // namespace
}  // namespace runnel::home
