#include "agent/preparation_records.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

class PreparationRecordsTest : public ::testing::Test {
 protected:
  static PreparationRecords::Record record_of(std::int64_t task, const std::string& node = "n.1") {
    PreparationRecords::Record record;
    record.node = NodeId(node);
    record.order.attempt = {{JobId("job"), StepIndex(2), TaskIndex(task)}, AttemptNumber(3)};
    record.order.argv = {"true"};
    record.order.checkpoint_from =
        model::CheckpointSource{{JobId("job"), StepIndex(2), TaskIndex(9)}, "ckpt", 4};
    return record;
  }
  PreparationRecords::All all() const { return MUST(records_.all()); }

  env::testing::TemporaryDirectory home_;
  PreparationRecords records_{home_.path()};
};

TEST_F(PreparationRecordsTest, HoldOrdersUntilTheyAreDropped) {
  EXPECT_TRUE(all().records.empty()) << "of a home where nothing was ever made ready";
  MUST(records_.keep(record_of(1)));
  MUST(records_.keep(record_of(1)));
  MUST(records_.keep(record_of(1, "n.2")));
  const PreparationRecords::All found = all();
  ASSERT_EQ(found.records.size(), 2U);
  EXPECT_EQ(found.records[0].of(), record_of(1).of());
  EXPECT_EQ(found.records[0].order, record_of(1).order);
  EXPECT_EQ(found.records[1].node, NodeId("n.2"));
  MUST(records_.drop(record_of(1).of()));
  MUST(records_.drop(record_of(1).of()));
  EXPECT_EQ(all().records.size(), 1U);
}

TEST_F(PreparationRecordsTest, AreTheOwnersAlone) {
  MUST(records_.keep(record_of(1)));
  EXPECT_EQ(MUST(env::file_info(records_.folder())).mode & 077U, 0U);
}

TEST_F(PreparationRecordsTest, NameWhatCannotBeReadAndLeaveIt) {
  MUST(records_.keep(record_of(1)));
  const std::string damaged = records_.folder() + "/job.2.7.1.n1.json";
  MUST(env::append_file(damaged, "{\"version\":"));
  const PreparationRecords::All found = all();
  EXPECT_EQ(found.records.size(), 1U);
  ASSERT_EQ(found.unreadable.size(), 1U);
  EXPECT_NE(found.unreadable[0].find(damaged), std::string::npos) << found.unreadable[0];
  EXPECT_TRUE(env::exists(damaged));
}

TEST_F(PreparationRecordsTest, DropWhatAKillLeftOfTheirOwn) {
  MUST(records_.keep(record_of(1)));
  const std::string name = MUST(env::list_directory(records_.folder())).front();
  const std::string torn = records_.folder() + "/" + name + ".tmp-1-2";
  MUST(env::append_file(torn, "{"));
  EXPECT_TRUE(all().unreadable.empty());
  EXPECT_FALSE(env::exists(torn));
}

TEST_F(PreparationRecordsTest, LeaveWhatIsBeingWritten) {
  MUST(records_.keep(record_of(1)));
  const std::string name = MUST(env::list_directory(records_.folder())).front();
  const std::string written =
      records_.folder() + "/" + name + ".tmp-" + std::to_string(::getpid()) + "-7";
  MUST(env::append_file(written, "{"));
  EXPECT_EQ(all().records.size(), 1U);
  EXPECT_TRUE(env::exists(written)) << "or the record would not come about, nor its attempt";
}

}  // namespace
}  // namespace runnel::agent
