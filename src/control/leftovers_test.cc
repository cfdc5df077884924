#include "control/leftovers.h"

#include <gtest/gtest.h>

#include "control/testing/home.h"

namespace runnel::control {
namespace {

using testing::Home;
using testing::PaperNode;
using testing::step;
using Verb = model::JobRequest::Verb;

class LeftoversTest : public ::testing::Test {
 protected:
  LeftoversTest() {
    home_.open();
    node_ =
        std::make_unique<PaperNode>(*home_.loop, home_.control(), "n1", PaperNode::Manner::kEcho);
    EXPECT_TRUE(home_.wait(node_->join(4)).ok());
  }
  ~LeftoversTest() override { EXPECT_TRUE(home_.wait(node_->stop()).ok()); }

  JobId ended_job() {
    home_.clock.advance(Duration::seconds(1));
    const JobId job = home_.submit({step("a")});
    home_.until([&] { return model::is_end(home_.status(job)); });
    return job;
  }
  std::vector<JobId> ask(std::vector<JobId> jobs) {
    return MUST(home_.wait(leftovers(&home_.control(), std::move(jobs))));
  }

  Home home_;
  std::unique_ptr<PaperNode> node_;
};

TEST_F(LeftoversTest, AreJobsThatWereDeleted) {
  const JobId kept = ended_job();
  const JobId deleted = ended_job();
  ASSERT_TRUE(home_.call(Verb::kDelete, deleted).ok());
  EXPECT_EQ(ask({kept, deleted}), std::vector<JobId>{deleted});
  EXPECT_TRUE(ask({}).empty());
}

TEST_F(LeftoversTest, AreNotInTheArchive) {
  const JobId archived = ended_job();
  ASSERT_TRUE(home_.call(Verb::kDelete, archived).ok());
  home_.watch.storage->archive[archived.str()] = {archived.str(), "0", "{}"};
  EXPECT_TRUE(ask({archived}).empty());
}

TEST_F(LeftoversTest, AreMoreThanTheLogIsAskedAtOnce) {
  home_.clock.advance(Duration::hours(1));
  JobIdMaker ids(7, home_.clock.wall());
  std::vector<JobId> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(ids.next(home_.clock.wall()));
  EXPECT_EQ(ask(many), many);
}

TEST_F(LeftoversTest, AreNeverWhatThisLogCannotKnow) {
  JobIdMaker earlier(7, Time::from_millis(1));
  EXPECT_TRUE(
      ask({JobId("notes"), JobId("my-own-stuff"), earlier.next(Time::from_millis(5))}).empty());
}

}  // namespace
}  // namespace runnel::control
