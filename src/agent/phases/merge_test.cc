#include "agent/phases/merge.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

// With a script in the place of `runnel volume`, which keeps its words and the names that it is
// given.
class MergePhaseTest : public ::testing::Test {
 protected:
  MergePhaseTest() {
    order_.attempt = {{JobId("job"), StepIndex(1), TaskIndex(0)}, AttemptNumber(1)};
    order_.merge = {"job.train", {{0, 2}, {5, 6}}, 1};
    order_.volumes = {{"out", "results", "", "file:///volumes", false, model::VolumeMode::kWrite}};
    answer_with("echo '{\"version\":\"0123456789abcdef\"}'");
  }

  void answer_with(const std::string& script) {
    MUST(env::write_file_atomically(
        home_.file("runnel"), "#!/bin/sh\necho \"$*\" > " + home_.file("asked") + "\ncp ${10} " +
                                  home_.file("names") + "\n" + script + "\n"));
    ASSERT_EQ(::chmod(home_.file("runnel").c_str(), 0700), 0);
  }
  Result<Readiness> prepare() const {
    PathTrail trail(home_.path());
    const model::StartOrder order = phase_.split(order_).at(0);
    return phase_.prepare(NodeId("n1"), order, {}, trail);
  }

  env::testing::TemporaryDirectory home_;
  const MergePhase phase_{home_.path() + "/merges", VolumeCommand({home_.file("runnel")}, nullptr)};
  model::StartOrder order_;
};

TEST_F(MergePhaseTest, TheBranchesOfWhatSucceededAreMergedUnderTheNameOfTheirStep) {
  EXPECT_TRUE(phase_.is_needed(order_));
  EXPECT_EQ(MUST(prepare()).published, (model::VolumeVersions{{"out", "0123456789abcdef"}}));
  const std::string file = home_.path() + "/merges/job.train.1.out";
  EXPECT_EQ(MUST(env::read_file(home_.file("asked"))),
            "merge results --store file:///volumes -m job job, step train --once job.train "
            "--branches-from " +
                file + " -o json\n");
  EXPECT_EQ(MUST(env::read_file(home_.file("names"))), "job.train.0\njob.train.1\njob.train.5\n");
  EXPECT_FALSE(env::exists(file));
  order_.merge->world_size = 2;
  order_.merge->tasks = {{7, 8}};
  MUST(prepare());
  EXPECT_EQ(MUST(env::read_file(home_.file("names"))), "job.train.7.0\njob.train.7.1\n");
}

TEST_F(MergePhaseTest, AConflictIsForGood) {
  answer_with(
      R"(echo '{"error":{"code":"conflict","field":"path","message":"two have written same"}}'; exit 1)");
  const Error error = prepare().error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.to_string(),
            "volumes.out: what was written to volume results cannot be published: two have written "
            "same; the branches stay: change one of them and try again: runnel volume mount -d "
            "--branch BRANCH results DIR; runnel volume umount DIR; runnel retry job");
  for (const char* code : {"conflict", "unavailable"}) {
    answer_with("echo '{\"error\":{\"code\":\"" + std::string(code) +
                "\",\"message\":\"run it again\"}}'; exit 1");
    EXPECT_EQ(prepare().error().code, Errc::kIo) << "it is tried again";
  }
}

TEST_F(MergePhaseTest, WhereNothingHasSucceededNothingIsMerged) {
  order_.merge->tasks.clear();
  MUST(prepare());
  EXPECT_FALSE(env::exists(home_.file("asked")));
}

}  // namespace
}  // namespace runnel::agent
