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
    answer_with(R"(echo '{"branches":[{"branch":"job.train.3","term":2}]}')");
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
                         " --store file:///volumes --branch job.train.3 --term 2 --from-base "
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

TEST_F(BranchesPhaseTest, WhatGoesOnFromACheckpointGoesOnWithWhatItWrote) {
  order_.checkpoint = model::CheckpointPolicy{};
  MUST(prepare());
  EXPECT_EQ(asked().find("--from-base"), std::string::npos);
}

// Its holder and its server were killed: what is in the log is published by the next.
TEST_F(BranchesPhaseTest, IsFinishedOnceItsHolderHasSaidSo) {
  EXPECT_TRUE(MUST(finish())) << "nothing was made";
  MUST(prepare());
  {
    const env::FileLock held = MUST(UsedMounts::lock_holding(place()));
    MUST(UsedMounts::mark_published(place()));
    EXPECT_FALSE(MUST(finish())) << "another mount may have said so";
    MUST(UsedMounts::unmark_published(place()));
  }
  EXPECT_EQ(std::ranges::count(asked(), '\n'), 1) << "who holds it publishes";
  EXPECT_FALSE(MUST(finish()));
  EXPECT_NE(asked().find("\nmount results ", 1), std::string::npos) << "it is mounted again";
  MUST(UsedMounts::mark_published(place()));
  EXPECT_TRUE(MUST(finish()));
}

TEST_F(BranchesPhaseTest, ABranchThatIsAnothersIsNeverFinished) {
  MUST(prepare());
  answer_with(R"(echo '{"branches":[{"branch":"job.train.3","term":3}]}')");
  EXPECT_EQ(finish().error().code, Errc::kInvalid);
  answer_with(R"(echo '{"branches":[]}')");
  EXPECT_EQ(finish().error().code, Errc::kInvalid) << "it was removed";
  answer_with(R"(echo '{"error":{"code":"unavailable","message":"no answer"}}'; exit 1)");
  EXPECT_EQ(finish().error().code, Errc::kIo) << "a store may come back";
}

TEST_F(BranchesPhaseTest, WhatWasWrittenWhereItsMountWasTakenAwayIsNotPublished) {
  MUST(prepare());
  MUST(env::append_file(place() + "/tree/below", "text"));
  MUST(UsedMounts::mark_published(place()));
  const Error error = finish().error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_NE(error.message.find("'below'"), std::string::npos);
}

TEST_F(BranchesPhaseTest, IsTakenBackOnceNobodyHoldsIt) {
  MUST(prepare());
  {
    const env::FileLock held = MUST(UsedMounts::lock_holding(place()));
    MUST(undo());
    EXPECT_TRUE(env::exists(place())) << "its holder publishes the rest";
    EXPECT_FALSE(MUST(UsedMounts::is_used(place())));
  }
  // Of a server that was killed, and one of another attempt.
  const std::string logs = home_.path() + "/writing/uuid/";
  MUST(env::make_directories(logs + UsedMounts::log_name("job.train.3", AttemptNumber(2))));
  MUST(env::make_directories(logs + UsedMounts::log_name("job.train.3", AttemptNumber(3))));
  MUST(undo());
  EXPECT_FALSE(env::exists(place()));
  EXPECT_EQ(MUST(env::list_directory(logs)), std::vector<std::string>{"branch-job.train.3.3"});
  MUST(undo());
  MUST(UsedMounts::remove_logs_of(home_.path(), JobId("jo")));
  EXPECT_EQ(MUST(env::list_directory(logs)).size(), 1U) << "another job";
  MUST(UsedMounts::remove_logs_of(home_.path(), JobId("job")));
  EXPECT_TRUE(MUST(env::list_directory(logs)).empty());
}

}  // namespace
}  // namespace runnel::agent
