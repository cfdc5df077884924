#include "control/recovery.h"

#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"
#include "model/codec.h"
#include "store/memory/memory_log.h"

namespace runnel::control {
namespace {

using brain::testing::BrainHarness;
using brain::testing::step;
using Verb = model::JobRequest::Verb;

// A log that is written the way the log writer does, without one.
class RecoveryTest : public ::testing::Test {
 protected:
  RecoveryTest() { reopen(); }

  void reopen() {
    log_ = MUST(store::open_memory_log(storage_));
    epoch_ = MUST(log_->acquire_lease());
  }

  // Stores what the harness decided last, as one batch.
  void store_last() {
    if (harness_.last.empty()) return;
    const store::Head head = log_->head();
    store::Batch batch;
    batch.seq = BatchSeq(head.last.value() + 1);
    batch.first_event = head.next_event;
    batch.event_count = std::ssize(harness_.last);
    batch.epoch = epoch_;
    batch.now = harness_.now;
    batch.input = model::encode_text(model::Input(model::Wake{}));
    json::Writer out(batch.events);
    out.begin_list();
    for (const model::Event& event : harness_.last) model::encode(out, event);
    out.end_list();
    ASSERT_TRUE(log_->append(epoch_, {batch}).ok());
  }
  JobId submit(std::vector<model::StepSpec> steps) {
    const JobId job = harness_.submit(std::move(steps));
    store_last();
    return job;
  }
  void cancel(const JobId& job) {
    harness_.request(job, Verb::kCancel);
    store_last();
  }
  void snapshot() {
    ASSERT_TRUE(log_->save_snapshot(
                        epoch_, {log_->head().last, brain::encode_state(harness_.brain.state())})
                    .ok());
  }

  std::shared_ptr<store::MemoryStorage> storage_ = std::make_shared<store::MemoryStorage>();
  std::unique_ptr<store::EventLog> log_;
  Epoch epoch_;
  BrainHarness harness_;
};

TEST_F(RecoveryTest, FindsNothingInANewLog) {
  const Recovered found = MUST(recover(*log_));
  EXPECT_TRUE(found.brain.state().jobs.empty());
  EXPECT_EQ(found.head.last, BatchSeq(0));
  EXPECT_EQ(found.events_since_snapshot, 0);
}

TEST_F(RecoveryTest, FoldsEveryBatch) {
  const JobId job = submit({step("a", 3)});
  cancel(job);
  const Recovered found = MUST(recover(*log_));
  EXPECT_EQ(brain::encode_state(found.brain.state()), brain::encode_state(harness_.brain.state()));
  EXPECT_EQ(found.events_since_snapshot, found.brain.state().last_event.value());
  EXPECT_EQ(found.versions.version_of(job), found.brain.state().last_event);
}

TEST_F(RecoveryTest, GoesOnFromASnapshot) {
  const JobId old = submit({step("a")});
  snapshot();
  const EventSeq floor = harness_.brain.state().last_event;
  const JobId young = submit({step("b")});
  const Recovered found = MUST(recover(*log_));
  EXPECT_EQ(brain::encode_state(found.brain.state()), brain::encode_state(harness_.brain.state()));
  EXPECT_EQ(found.events_since_snapshot, 1);
  EXPECT_EQ(found.versions.version_of(old), floor);
  EXPECT_GT(found.versions.version_of(young), floor);
}

TEST_F(RecoveryTest, NeedsNoBatchBeforeTheSnapshot) {
  for (int job = 0; job < 3; ++job) submit({step("a")});
  snapshot();
  submit({step("b")});
  snapshot();
  ASSERT_TRUE(log_->prune(epoch_, BatchSeq(2)).ok());
  const Recovered found = MUST(recover(*log_));
  EXPECT_EQ(found.brain.state().jobs.size(), 4U);
}

TEST_F(RecoveryTest, NamesTheBatchThatIsNotUnderstood) {
  submit({step("a")});
  store::Batch batch;
  batch.seq = BatchSeq(log_->head().last.value() + 1);
  batch.first_event = log_->head().next_event;
  batch.event_count = 1;
  batch.epoch = epoch_;
  batch.now = harness_.now;
  batch.input = "{}";
  batch.events = R"([{"type":"job.teleported"}])";
  ASSERT_TRUE(log_->append(epoch_, {batch}).ok());
  auto found = recover(*log_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Errc::kCorrupt);
  EXPECT_EQ(found.error().value, std::to_string(batch.seq.value()));
  EXPECT_NE(found.error().hint.find("fsck"), std::string::npos);
}

TEST_F(RecoveryTest, RefusesABatchThatHoldsFewerEventsThanItSays) {
  store::Batch batch;
  batch.seq = BatchSeq(1);
  batch.event_count = 2;
  batch.events = "[]";
  EXPECT_FALSE(events_of(batch).ok());
  batch.event_count = 0;
  EXPECT_TRUE(events_of(batch).ok());
  batch.events = "{}";
  EXPECT_FALSE(events_of(batch).ok());
  batch.events = "[";
  EXPECT_FALSE(events_of(batch).ok());
}

TEST_F(RecoveryTest, RefusesARestoredJobOfANewerBuildByName) {
  store::Batch batch;
  batch.event_count = 1;
  const auto restored = [&](const std::string& record) {
    batch.events =
        "[" + model::encode_text(model::Event(model::JobRestored{JobId("j1"), record})) + "]";
    return events_of(batch);
  };
  const auto newer = restored(R"({"version":1000000})");
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, Errc::kUnsupported);
  EXPECT_NE(newer.error().message.find("record of a job"), std::string::npos);
  const auto garbled = restored("{");
  ASSERT_FALSE(garbled.ok());
  EXPECT_EQ(garbled.error().code, Errc::kCorrupt);
}

TEST_F(RecoveryTest, BeginsAnewWhenTheSnapshotIsNotUnderstood) {
  submit({step("a")});
  ASSERT_TRUE(log_->save_snapshot(epoch_, {log_->head().last, "{\"what\":1}"}).ok());
  const Recovered found = MUST(recover(*log_));
  EXPECT_EQ(brain::encode_state(found.brain.state()), brain::encode_state(harness_.brain.state()));
}

TEST_F(RecoveryTest, RefusesASnapshotThatIsNotUnderstoodAndAllThatIsLeft) {
  submit({step("a")});
  snapshot();
  submit({step("b")});
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(log_->save_snapshot(epoch_, {log_->head().last, "{\"what\":1}"}).ok());
    submit({step("c")});
  }
  ASSERT_TRUE(log_->prune(epoch_, BatchSeq(1)).ok());
  auto found = recover(*log_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Errc::kCorrupt);
  EXPECT_NE(found.error().message.find("snapshot"), std::string::npos);
}

TEST_F(RecoveryTest, LeavesTheSnapshotOfANewerBuildAlone) {
  submit({step("a")});
  std::string newer = brain::encode_state(harness_.brain.state());
  const std::size_t version = newer.find("\"version\":");
  ASSERT_NE(version, std::string::npos);
  newer.insert(version + std::string_view("\"version\":").size(), "9");
  ASSERT_TRUE(log_->save_snapshot(epoch_, {log_->head().last, newer}).ok());
  auto found = recover(*log_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Errc::kUnsupported);
}

class JobVersionsTest : public ::testing::Test {
 protected:
  void follow_last() {
    const brain::State& state = harness_.brain.state();
    std::int64_t seq = state.last_event.value() - std::ssize(harness_.last);
    for (const model::Event& event : harness_.last) versions_.follow(state, event, EventSeq(++seq));
  }

  BrainHarness harness_;
  JobVersions versions_;
};

TEST_F(JobVersionsTest, AreTheSnapshotsLastEventForAJobThatNothingHappenedToSince) {
  const JobId ended = harness_.submit({step("a")});
  harness_.request(ended, Verb::kCancel);
  harness_.submit({step("b")});
  JobVersions again(harness_.brain.state());
  EXPECT_EQ(again.version_of(ended), harness_.brain.state().last_event);
}

TEST_F(JobVersionsTest, GrowWithTheEventsThatConcernTheirJob) {
  harness_.join("n1", 1);
  follow_last();
  const JobId first = harness_.submit({step("a")});
  follow_last();
  const EventSeq before = versions_.version_of(first);
  const JobId second = harness_.submit({step("a")});
  follow_last();
  EXPECT_EQ(versions_.version_of(first), before);
  EXPECT_GT(versions_.version_of(second), before);
  harness_.ended("n1", BrainHarness::ref(first, 0, 0));
  follow_last();
  EXPECT_GT(versions_.version_of(first), before);
}

}  // namespace
}  // namespace runnel::control
