#include "agent/phases/branches.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

// With a script in the place of `runnel volume`, which keeps its words.
class BranchesPhaseTest : public ::testing::Test {
 protected:
  BranchesPhaseTest() {
    order_.attempt = {{JobId("job"), StepIndex(0), TaskIndex(3)}, AttemptNumber(2)};
    order_.branch = "job.train.3";
    order_.volumes = {{"data", "fashion", "0123456789abcdef", "file:///volumes"},
                      {"out", "results", "", "file:///volumes", false, model::VolumeMode::kWrite}};
    answer_with("");
  }

  void answer_with(const std::string& script) {
    MUST(env::write_file_atomically(
        home_.file("runnel"),
        "#!/bin/sh\necho \"$*\" >> " + home_.file("asked") + "\n" + script + "\n"));
    ASSERT_EQ(::chmod(home_.file("runnel").c_str(), 0700), 0);
  }
  BranchesPhase phase(const std::string& fuse = "/dev/null") const {
    return {mounts_, VolumeCommand({home_.file("runnel")}, nullptr), fuse};
  }
  model::StartOrder only() const { return phase().split(order_).at(0); }
  std::string place() const {
    return mounts_.place_of_branch(only().volumes[0], "job.train.3", AttemptNumber(2));
  }
  Result<Readiness> prepare(const std::string& fuse = "/dev/null") const {
    PathTrail trail(home_.path());
    return phase(fuse).prepare(NodeId("n1"), only(), {}, trail);
  }
  Result<bool> finish() const {
    PathTrail trail(home_.path());
    return phase().finish(NodeId("n1"), only(), trail);
  }
  Result<void> undo() const {
    PathTrail trail(home_.path());
    return phase().undo(NodeId("n1"), only(), trail);
  }
  std::string asked() const { return env::read_file(home_.file("asked")).value_or(""); }

  env::testing::TemporaryDirectory home_;
  const UsedMounts mounts_{home_.path()};
  model::StartOrder order_;
};

TEST_F(BranchesPhaseTest, MountsABranchInTheTermOfTheAttempt) {
  const Readiness ready = MUST(prepare());
  const std::string tree = place() + "/tree";
  EXPECT_EQ(ready.of_rank.at(0),
            (std::vector<std::pair<std::string, std::string>>{{"RUNNEL_VOLUME_OUT", tree}}));
  EXPECT_EQ(asked(), "mount results " + tree +
                         " --store file:///volumes --branch job.train.3 --from-base --term 2 "
                         "--detach --while-used " +
                         place() + " -o json\n");
  EXPECT_TRUE(MUST(UsedMounts::is_used(place())));
}

TEST_F(BranchesPhaseTest, EachRankHasABranchOfItsOwn) {
  order_.world_size = 4;
  order_.first_rank = 2;
  order_.rank_count = 2;
  const std::vector<model::StartOrder> parts = phase().split(order_);
  ASSERT_EQ(parts.size(), 2U);
  std::set<std::string> places;
  for (const model::StartOrder& part : parts) {
    EXPECT_EQ(part.volumes.size(), 1U);
    EXPECT_EQ(part.rank_count, 1);
    places.insert(phase().workplace(part).folder);
  }
  EXPECT_EQ(places.size(), 2U);
  EXPECT_NE(places.begin()->find("job.train.3.2.2@results-"), std::string::npos);
}

TEST_F(BranchesPhaseTest, WhoOnlyReadsOrPublishesNeedsNone) {
  order_.volumes.pop_back();
  EXPECT_FALSE(phase().is_needed(order_));
  order_.volumes = {{"out", "results", "", "file:///volumes", false, model::VolumeMode::kWrite}};
  order_.branch.clear();
  EXPECT_FALSE(phase().is_needed(order_));
}

TEST_F(BranchesPhaseTest, AMachineThatCannotMountIsNamed) {
  const Error error = prepare("/no/such/device").error();
  EXPECT_EQ(error.code, Errc::kInvalid) << "nor will it later";
  EXPECT_EQ(error.field, "volumes.out");
  EXPECT_NE(error.message.find("cannot mount"), std::string::npos);
}

// Its holder and its server were killed: what is in the log is published by the next.
TEST_F(BranchesPhaseTest, IsFinishedOnceItsHolderHasSaidSo) {
  EXPECT_TRUE(MUST(finish())) << "nothing was made";
  MUST(prepare());
  {
    const env::FileLock held = MUST(UsedMounts::lock_holding(place()));
    EXPECT_FALSE(MUST(finish()));
  }
  EXPECT_EQ(std::ranges::count(asked(), '\n'), 1) << "who holds it publishes";
  EXPECT_FALSE(MUST(finish()));
  EXPECT_EQ(std::ranges::count(asked(), '\n'), 2) << "it is mounted again";
  MUST(UsedMounts::mark_published(place()));
  EXPECT_TRUE(MUST(finish()));
}

TEST_F(BranchesPhaseTest, ABranchThatIsAnothersIsNeverFinished) {
  MUST(prepare());
  answer_with(
      R"(echo '{"error":{"code":"conflict","message":"it is written by somebody else"}}'; exit 1)");
  EXPECT_EQ(finish().error().code, Errc::kInvalid);
  answer_with(R"(echo '{"error":{"code":"unavailable","message":"no answer"}}'; exit 1)");
  EXPECT_EQ(finish().error().code, Errc::kIo) << "a store may come back";
}

TEST_F(BranchesPhaseTest, IsTakenBackOnceNobodyHoldsIt) {
  MUST(prepare());
  {
    const env::FileLock held = MUST(UsedMounts::lock_holding(place()));
    MUST(undo());
    EXPECT_TRUE(env::exists(place())) << "its holder publishes the rest";
    EXPECT_FALSE(MUST(UsedMounts::is_used(place())));
  }
  MUST(undo());
  EXPECT_FALSE(env::exists(place()));
  MUST(undo());
}

}  // namespace
}  // namespace runnel::agent
