#include "agent/suspect_mounts.h"

#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

using Mounts = std::vector<std::string>;

const Mounts kMounts = {
    "/", "/proc", "/home", "/home/x/jobs/1/tasks/0.0", "/home/x/jobs/1/logs", "/homes"};
const Time kSince = Time::from_millis(0);

TEST(SuspectMountsTest, AreThoseAtTheFolderOrBelowItWhereTheReadGoesAsFar) {
  EXPECT_EQ(suspect_mounts("/home/x/jobs/1", Reach::kBelow, kMounts),
            (Mounts{"/home/x/jobs/1/tasks/0.0", "/home/x/jobs/1/logs"}));
  EXPECT_EQ(suspect_mounts("/home/x/jobs/1/logs", Reach::kBelow, kMounts),
            Mounts{"/home/x/jobs/1/logs"});
}

TEST(SuspectMountsTest, AreNoneBelowAFolderThatAloneIsTouched) {
  EXPECT_EQ(suspect_mounts("/home/x", Reach::kFolder, kMounts), Mounts{"/home"});
  EXPECT_EQ(suspect_mounts("/home", Reach::kFolder, kMounts), Mounts{"/home"});
}

TEST(SuspectMountsTest, AreTheOneThatThePathLiesOnWhereNoneIsBelow) {
  EXPECT_EQ(suspect_mounts("/home/x/jobs/2", Reach::kBelow, kMounts), Mounts{"/home"});
  EXPECT_EQ(suspect_mounts("/homely", Reach::kBelow, kMounts), Mounts{"/"});
  EXPECT_TRUE(suspect_mounts("/home", Reach::kBelow, {}).empty());
}

TEST(SuspectMountsTest, ThoseBelowAFolderAreNotTheFolderItself) {
  EXPECT_EQ(mounts_below("/home/x/jobs/1/logs", kMounts), Mounts());
  EXPECT_EQ(
      mounts_below("/home/x/jobs/1", {"/home/x/jobs/1/a", "/home/x/jobs/1/a", "/home/x/jobs/10"}),
      Mounts{"/home/x/jobs/1/a"});
}

TEST(SuspectMountsTest, AreNamedOnce) {
  EXPECT_EQ(suspect_mounts("/a", Reach::kBelow, {"/a", "/a"}), Mounts{"/a"});
}

TEST(SuspectMountsTest, AnswerAsASentenceWithAHintThatAShellTakes) {
  const Error one = silence_of("/a/b", {"/a"}, kSince);
  EXPECT_EQ(one.message, "/a has not answered since 1970-01-01T00:00:00.000Z");
  EXPECT_TRUE(one.hint.ends_with("umount --lazy /a")) << one.hint;
  const Error strange = silence_of("/a", {"/a b's"}, kSince);
  EXPECT_TRUE(strange.hint.ends_with("umount --lazy '/a b'\\''s'")) << strange.hint;
  const Error several = silence_of("/a", {"/a/1", "/a/2", "/a/3", "/a/4"}, kSince);
  EXPECT_TRUE(several.message.starts_with("one of /a/1, /a/2, /a/3 and 1 more has not answered"))
      << several.message;
  EXPECT_TRUE(several.hint.ends_with("umount --lazy PATH")) << several.hint;
}

TEST(SuspectMountsTest, NobodyIsToldToUnmountWhatTheSystemNeedsOrWhatIsNoMount) {
  const Mounts proc = suspect_mounts("/proc", Reach::kFolder, kMounts);
  for (const Error& error : {silence_of("/proc", proc, kSince), silence_of("/a", {"/"}, kSince),
                             silence_of("/sys", {"/sys"}, kSince), silence_of("/a", {}, kSince)}) {
    EXPECT_EQ(error.hint.find("umount"), std::string::npos) << error.message << error.hint;
  }
  EXPECT_TRUE(silence_of("/proc", proc, kSince).message.starts_with("/proc has not answered"));
  const Error of_people = silence_of("/dev/shm/home", {"/dev/shm/home/jobs"}, kSince);
  EXPECT_NE(of_people.hint.find("umount --lazy /dev/shm/home/jobs"), std::string::npos);
}

TEST(PathTrailTest, FollowsLinksToTheRealPath) {
  const env::testing::TemporaryDirectory folder;
  const std::string root = MUST(env::real_path(folder.path()));
  MUST(env::make_directories(root + "/a/b"));
  ASSERT_EQ(::symlink("../a//b/.", (root + "/a/link").c_str()), 0);
  ASSERT_EQ(::symlink((root + "/a").c_str(), (root + "/home").c_str()), 0);
  PathTrail trail(root + "/home/link/new");
  EXPECT_FALSE(trail.place().arrived);
  trail.follow(root + "/home/link/new");
  EXPECT_TRUE(trail.place().arrived);
  EXPECT_EQ(trail.place().path, root + "/a/b/new");
  trail.follow(root + "/home");
  EXPECT_EQ(trail.place().path, root + "/a");
}

TEST(PathTrailTest, EndsInACircle) {
  const env::testing::TemporaryDirectory folder;
  ASSERT_EQ(::symlink("circle", folder.file("circle").c_str()), 0);
  PathTrail trail(folder.path());
  trail.follow(folder.file("circle/more"));
  EXPECT_TRUE(trail.place().arrived);
}

}  // namespace
}  // namespace runnel::agent
