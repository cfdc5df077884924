#include "control/leftovers.h"

#include <gtest/gtest.h>

#include "control/testing/home.h"

namespace runnel::control {
namespace {

using testing::FakeNode;
using testing::Home;
using testing::step;
using Verb = model::JobRequest::Verb;

class LeftoversTest : public ::testing::Test {
 protected:
  LeftoversTest() {
    home_.open();
    node_ =
        std::make_unique<FakeNode>(*home_.loop, home_.control(), "n1", FakeNode::Behaviour::kEcho);
    EXPECT_TRUE(home_.wait(node_->join(4)).ok());
  }
  ~LeftoversTest() override {
    if (node_ != nullptr) drop_node();
  }
  // Before the controller that it speaks to ends.
  void drop_node() {
    EXPECT_TRUE(home_.wait(node_->stop()).ok());
    node_.reset();
  }

  JobId ended_job() {
    home_.clock.advance(Duration::seconds(1));
    const JobId job = home_.submit({step("a")});
    home_.until([&] { return model::is_end(home_.status(job)); });
    return job;
  }
  Leftovers ask(std::vector<JobId> jobs) {
    return MUST(home_.wait(leftovers(&home_.control(), std::move(jobs))));
  }

  Home home_;
  std::unique_ptr<FakeNode> node_;
};

TEST_F(LeftoversTest, AreDeletedByADurableRecord) {
  const JobId kept = ended_job();
  const JobId deleted = ended_job();
  ASSERT_TRUE(home_.call(Verb::kDelete, deleted).ok());
  EXPECT_EQ(ask({kept, deleted}).deleted, std::vector<JobId>{deleted});
  EXPECT_TRUE(ask({kept, deleted}).unknown.empty());
  EXPECT_TRUE(ask({}).deleted.empty());
}

TEST_F(LeftoversTest, AreDeletedOutOfTheArchive) {
  const JobId job = ended_job();
  ASSERT_TRUE(home_.call(Verb::kDelete, job).ok());
  home_.watch.storage->archive.clear();
  home_.watch.storage->archive[job.str()] = {job.str(), "0", "{}"};
  ASSERT_TRUE(home_.wait(home_.control().remove_archived(job, std::nullopt)).ok());
  EXPECT_EQ(ask({job}).deleted, std::vector<JobId>{job});
}

TEST_F(LeftoversTest, AreStillDeletedByTheNextControl) {
  const JobId job = ended_job();
  ASSERT_TRUE(home_.call(Verb::kDelete, job).ok());
  drop_node();
  home_.crash();
  home_.open();
  EXPECT_EQ(ask({job}).deleted, std::vector<JobId>{job});
}

TEST_F(LeftoversTest, AreNotInTheArchive) {
  const JobId archived = ended_job();
  ASSERT_TRUE(home_.call(Verb::kDelete, archived).ok());
  home_.watch.storage->archive[archived.str()] = {archived.str(), "0", "{}"};
  EXPECT_TRUE(ask({archived}).deleted.empty());
  EXPECT_TRUE(ask({archived}).unknown.empty());
}

TEST_F(LeftoversTest, AreUnknownWhereTheLogDoesNotSayThatTheyWereDeleted) {
  (void)ended_job();
  home_.clock.advance(Duration::hours(1));
  JobIdMaker ids(7, home_.clock.wall());
  std::vector<JobId> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(ids.next(home_.clock.wall()));
  JobIdMaker earlier(7, Time::from_millis(1));
  many.push_back(earlier.next(Time::from_millis(5)));
  EXPECT_EQ(ask(many).unknown, many) << "more than the log is asked about at once";
  EXPECT_TRUE(ask(many).deleted.empty());
}

TEST_F(LeftoversTest, AreNeverWhatIsNoJob) {
  const Leftovers found = ask({JobId("notes"), JobId("my-own-stuff")});
  EXPECT_TRUE(found.deleted.empty());
  EXPECT_TRUE(found.unknown.empty());
}

TEST_F(LeftoversTest, DoNotMakeShortIdsAmbiguous) {
  const JobId job = ended_job();
  ASSERT_TRUE(home_.call(Verb::kDelete, job).ok());
  const std::string key = deletion_key(job);
  EXPECT_TRUE(home_.watch.storage->archive.contains(key));
  EXPECT_FALSE(is_job_id_prefix(key.substr(0, 1)));
}

}  // namespace
}  // namespace runnel::control
