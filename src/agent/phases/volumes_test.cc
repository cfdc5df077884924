#include "agent/phases/volumes.h"

#include <sys/stat.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "env/files.h"
#include "env/machine.h"
#include "env/remove_tree.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

// The keys that jobs were submitted with.
struct GivenKeys final : SecretSource {
  Result<Values> values(const NodeId&, const JobId&) const override { return given; }
  std::string place(const JobId&) const override { return "/keys"; }

  Values given;
};

// With a script in the place of `runnel volume`, which keeps its words and variables.
class VolumesPhaseTest : public ::testing::Test {
 protected:
  VolumesPhaseTest() {
    order_.attempt = {{JobId("job"), StepIndex(0), TaskIndex(0)}, AttemptNumber(1)};
    order_.volumes = {{"data", "fashion", "0123456789abcdef", "file:///volumes"}};
    place_ = mounts_.place_of(order_.volumes[0]);
    answer_with("if [ $1 = get ]; then mkdir -p $3; echo text > $3/file; fi");
  }

  void answer_with(const std::string& script) {
    const std::string log = home_.file("asked");
    MUST(env::write_file_atomically(
        home_.file("runnel"),
        "#!/bin/sh\necho \"$*\" \"$AWS_SECRET_ACCESS_KEY\" >> " + log + "\n" + script + "\n"));
    ASSERT_EQ(::chmod(home_.file("runnel").c_str(), 0700), 0);
  }
  VolumesPhase phase(const std::string& fuse) const {
    return {mounts_, VolumeCommand({home_.file("runnel")}, keys_), fuse};
  }
  Result<Readiness> prepare(const std::string& fuse = "/dev/null") const {
    PathTrail trail(home_.path());
    return phase(fuse).prepare(NodeId("n1"), order_, {}, trail);
  }
  Result<void> undo() const {
    PathTrail trail(home_.path());
    return phase("/dev/null").undo(NodeId("n1"), order_, trail);
  }
  std::string asked() const { return env::read_file(home_.file("asked")).value_or(""); }

  env::testing::TemporaryDirectory home_;
  const UsedMounts mounts_{home_.path()};
  std::shared_ptr<GivenKeys> keys_ = std::make_shared<GivenKeys>();
  model::StartOrder order_;
  std::string place_;
};

TEST_F(VolumesPhaseTest, MountsAVersionAndNamesItsFolder) {
  const Readiness ready = MUST(prepare());
  EXPECT_EQ(
      ready.volumes,
      (std::vector<std::pair<std::string, std::string>>{{"RUNNEL_VOLUME_DATA", place_ + "/tree"}}));
  EXPECT_EQ(asked(), "mount fashion@0123456789abcdef " + place_ +
                         "/tree --store file:///volumes --detach --while-used " + place_ +
                         " -o json \n");
  EXPECT_TRUE(MUST(UsedMounts::is_used(place_)));
}

// Another attempt may begin after a repair, and reads nothing of what was mounted before it.
TEST_F(VolumesPhaseTest, APlaceThatHasMetDamageIsMadeAnewOnceNobodyUsesIt) {
  MUST(prepare("/no/such/device"));
  const Time begun = env::real_clock().wall();
  EXPECT_EQ(phase("/dev/null").likely_cause(order_, begun), "");
  MUST(UsedMounts::note(place_, UsedMounts::ReadFailure::kDamaged, "a pack"));
  EXPECT_EQ(phase("/dev/null").likely_cause(order_, begun),
            "volume fashion@0123456789abcdef could not be read whole: a pack");
  order_.attempt.attempt = AttemptNumber(2);
  MUST(prepare("/no/such/device"));
  EXPECT_TRUE(UsedMounts::is_damaged(place_)) << "the first attempt uses it";
  for (const int attempt : {1, 2}) {
    order_.attempt.attempt = AttemptNumber(attempt);
    MUST(mounts_.remove(mounts_.place_of(order_.volumes[0]), {NodeId("n1"), order_.attempt}));
  }
  answer_with("mkdir -p $3; echo mended > $3/file");
  MUST(prepare("/no/such/device"));
  EXPECT_FALSE(UsedMounts::is_damaged(place_));
  EXPECT_EQ(env::read_file(place_ + "/tree/file").value_or("none"), "mended\n");
}

TEST_F(VolumesPhaseTest, CopiesItWhereNothingCanBeMounted) {
  MUST(prepare("/no/such/device"));
  EXPECT_EQ(env::read_file(place_ + "/tree/file").value_or("none"), "text\n");
  struct stat file{};
  ASSERT_EQ(::stat((place_ + "/tree/file").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0222U, 0U) << "others read it as the version, too";
  MUST(prepare("/no/such/device"));
  const std::string words = asked();
  EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 1) << "it is there";
  MUST(undo());
  EXPECT_FALSE(env::exists(place_)) << "a copy goes with its last use";
}

TEST_F(VolumesPhaseTest, WhatATaskWroteIsNoCopyAndIsKept) {
  MUST(prepare("/no/such/device"));
  MUST(undo());
  ASSERT_TRUE(env::make_directories(place_ + "/tree").ok());
  MUST(env::append_file(place_ + "/tree/note", "of a task"));
  MUST(prepare("/no/such/device"));
  EXPECT_EQ(env::read_file(place_ + "/tree/file").value_or("none"), "text\n");
  EXPECT_FALSE(env::exists(place_ + "/tree/note"));
  const std::string strays = home_.path() + "/mounts/strays" + place_.substr(place_.rfind('/'));
  EXPECT_EQ(env::read_file(strays + "-1/note").value_or("none"), "of a task");
}

// After a power loss a copy may have its names and none of its bytes.
TEST_F(VolumesPhaseTest, ACopyOfBeforeTheMachineWasStartedIsMadeAnew) {
  MUST(prepare("/no/such/device"));
  MUST(env::write_file_atomically(place_ + "/copied", "another boot"));
  MUST(prepare("/no/such/device"));
  const std::string words = asked();
  EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 2);
  EXPECT_TRUE(UsedMounts::is_copy(place_));
  EXPECT_FALSE(env::exists(home_.path() + "/mounts/strays")) << "it was no task's";
}

TEST_F(VolumesPhaseTest, AWholeCopyIsTakenOnlyWhenItIsOfThisBoot) {
  answer_with("mkdir -p $3; echo again > $3/file");
  const std::string whole = place_ + "/tree.whole-";
  for (const std::string& boot : {std::string("another"), MUST(env::boot_id())}) {
    MUST(env::make_directories(whole + boot));
    MUST(env::append_file(whole + boot + "/file", boot));
    MUST(prepare("/no/such/device"));
    const bool is_asked = boot == "another";
    EXPECT_EQ(env::read_file(place_ + "/tree/file").value_or("none"), is_asked ? "again\n" : boot);
    MUST(undo());
    EXPECT_FALSE(env::exists(place_)) << "parts go with the place";
  }
}

// The version's root cannot be written to, nor can a copy of it of which a file is damaged.
TEST_F(VolumesPhaseTest, WhatWasGotInPartIsNoCopy) {
  answer_with("mkdir -p $3/sub; echo text > $3/file; chmod 555 $3 $3/sub; exit 1");
  EXPECT_FALSE(prepare("/no/such/device").ok());
  EXPECT_FALSE(prepare("/no/such/device").ok()) << "nor for who comes next";
  answer_with("mkdir -p $3; echo more > $3/sub/more");
  MUST(prepare("/no/such/device"));
  EXPECT_EQ(env::read_file(place_ + "/tree/file").value_or("none"), "text\n") << "it was there";
  EXPECT_EQ(env::read_file(place_ + "/tree/sub/more").value_or("none"), "more\n");
}

TEST_F(VolumesPhaseTest, WhatAKilledGetHasBegunIsNoFileOfTheVersion) {
  answer_with("mkdir -p $3/sub; echo te > $3/sub/.runnel-part-0123456789abcdef; exit 1");
  EXPECT_FALSE(prepare("/no/such/device").ok());
  answer_with("echo text > $3/sub/file");
  MUST(prepare("/no/such/device"));
  EXPECT_EQ(MUST(env::list_directory(place_ + "/tree/sub")), std::vector<std::string>{"file"});
}

TEST_F(VolumesPhaseTest, ASweepGoesOnAfterAPlaceThatCannotBeLookedAt) {
  for (const char* store : {"file:///a", "file:///b", "file:///c"}) {
    order_.volumes[0].store = store;
    MUST(prepare());
    MUST(mounts_.remove(mounts_.place_of(order_.volumes[0]), {NodeId("n1"), order_.attempt}));
  }
  const std::string broken = MUST(mounts_.places())[1];
  MUST(env::remove_tree(broken + "/uses"));
  MUST(env::append_file(broken + "/uses", "no folder"));
  PathTrail trail(home_.path());
  EXPECT_FALSE(phase("/dev/null").sweep(trail).ok());
  EXPECT_EQ(MUST(mounts_.places()), std::vector<std::string>{broken});
}

TEST_F(VolumesPhaseTest, EqualVersionsOfTwoStoresAreTwoPlaces) {
  MUST(prepare());
  order_.volumes[0].store = "file:///elsewhere";
  MUST(prepare());
  EXPECT_NE(mounts_.place_of(order_.volumes[0]), place_);
  EXPECT_EQ(MUST(mounts_.places()).size(), 2U);
}

TEST_F(VolumesPhaseTest, SweepsWhatNobodyUses) {
  MUST(prepare());
  order_.volumes[0].store = "file:///elsewhere";
  MUST(prepare());
  MUST(mounts_.remove(mounts_.place_of(order_.volumes[0]), {NodeId("n1"), order_.attempt}));
  const std::string foreign = mounts_.folder() + "/data@v1";
  const std::string alike = mounts_.folder() + "/data@0123456789abcdef-01234567";
  for (const std::string& folder : {foreign, alike}) {
    MUST(env::make_directories(folder));
    MUST(env::append_file(folder + "/file", "somebody's"));
  }
  PathTrail trail(home_.path());
  MUST(phase("/dev/null").sweep(trail));
  EXPECT_EQ(MUST(mounts_.places()), std::vector<std::string>{place_});
  EXPECT_TRUE(env::exists(foreign + "/file"));
  EXPECT_TRUE(env::exists(alike + "/file"));
}

TEST_F(VolumesPhaseTest, AnAttemptThatWillNotBeginLeavesNothing) {
  answer_with("exit 1");
  EXPECT_FALSE(prepare().ok());
  MUST(undo());
  EXPECT_FALSE(env::exists(place_));
  MUST(undo());
}

TEST_F(VolumesPhaseTest, WhatIsNotThereFailsForGood) {
  answer_with(
      R"(echo '{"error":{"code":"not-found","message":"no version","hint":"look"}}'; exit 1)");
  const Error error = prepare().error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(
      error.to_string(),
      "volumes.data: volume fashion@0123456789abcdef is not there, as it was when the job was "
      "submitted (a tag keeps a version): no version; look");
  answer_with(R"(echo '{"error":{"code":"unavailable","message":"no answer"}}'; exit 1)");
  EXPECT_EQ(prepare().error().code, Errc::kIo) << "it is tried again";
  answer_with(R"(echo '{"error":{"code":"denied","message":"a wrong key"}}'; exit 1)");
  EXPECT_EQ(prepare().error().code, Errc::kIo) << "a policy may change";
}

// A new `retry` hands over the keys of its shell, but only once the job has ended.
TEST_F(VolumesPhaseTest, AJobWithoutKeysFailsForGood) {
  answer_with(
      R"(echo '{"error":{"code":"denied","field":"AWS_ACCESS_KEY_ID","message":"there are no keys)"
      R"( for S3","hint":"set AWS_ACCESS_KEY_ID"}}'; exit 1)");
  const Error error = prepare().error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.to_string(),
            "volumes.data: volume fashion@0123456789abcdef cannot be read by this job: there are "
            "no keys for S3; set AWS_ACCESS_KEY_ID");
}

TEST_F(VolumesPhaseTest, TheKeysOfABucketGoToItsMountAlone) {
  keys_->given = {{"env:AWS_SECRET_ACCESS_KEY", "hush"}, {"env:TOKEN", "other"}};
  MUST(prepare());
  EXPECT_EQ(asked().find("hush"), std::string::npos) << "a folder needs no keys";
  order_.volumes[0].store = "s3://bucket";
  const Readiness ready = MUST(prepare());
  EXPECT_NE(asked().find("hush"), std::string::npos);
  EXPECT_TRUE(ready.secrets.empty());
}

}  // namespace
}  // namespace runnel::agent
