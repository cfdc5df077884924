#include "control/progress_document.h"

#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"
#include "json/value.h"

namespace runnel::control {
namespace {

using brain::testing::BrainHarness;

// Whole trials have eight steps.
model::StepSpec searching(std::int64_t trials) {
  model::StepSpec spec = brain::testing::step("search", trials);
  spec.samples.reset();
  spec.params = {{.name = "x", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
  spec.search.emplace();
  spec.search->method = model::SearchSpec::Method::kRandom;
  spec.search->objectives = {{"loss", false}};
  spec.search->max_trials = trials;
  spec.search->pruner = model::PrunerSpec{.max_step = 8, .eta = 2};
  return spec;
}

class ProgressDocumentTest : public ::testing::Test {
 protected:
  void begin(std::vector<model::StepSpec> steps) {
    harness_.join("n1", 2);
    job_ = harness_.submit(std::move(steps));
  }
  const brain::Job& job() const { return harness_.brain.state().jobs.at(job_); }
  json::Value told(const LiveMetrics& metrics = {}) const {
    return MUST(json::parse(progress_document(job(), metrics, harness_.now)));
  }
  static std::string text(const json::Value& value, std::string_view key) {
    const json::Value* found = value.find(key);
    return found == nullptr ? "(none)" : found->dump();
  }
  json::Value step(const LiveMetrics& metrics, std::size_t at) const {
    return told(metrics).find("steps")->as_list().at(at);
  }
  model::MetricSeries reported(std::vector<std::pair<std::string, std::string>> values) const {
    model::MetricSeries series;
    series.samples = {{12, std::move(values)}};
    series.reported_at = harness_.now;
    return series;
  }

  BrainHarness harness_;
  JobId job_;
};

TEST_F(ProgressDocumentTest, ATaskTellsItsShare) {
  begin({brain::testing::step("train")});
  harness_.running("n1", BrainHarness::ref(job_, 0, 0));
  EXPECT_EQ(live_tasks(job()).size(), 1U);
  harness_.pass(Duration::seconds(30));
  const LiveMetrics metrics = {
      {{StepIndex(0), TaskIndex(0)}, reported({{"loss", "nan"}, {"progress", "0.25"}})}};
  const json::Value train = step(metrics, 0);
  EXPECT_EQ(text(train, "share"), "0.25");
  EXPECT_EQ(text(train, "eta_seconds"), "90");
  EXPECT_EQ(train.find("live")->as_list().at(0).dump(),
            R"({"metrics":{"loss":"nan","progress":0.25},"step":12,"task":0})");
  EXPECT_EQ(text(told(metrics), "eta_seconds"), "90");
}

TEST_F(ProgressDocumentTest, ATaskThatWasTriedAgainHasThePaceOfItsAttempt) {
  model::StepSpec spec = brain::testing::step("train");
  spec.retry.max = 1;
  begin({spec});
  harness_.running("n1", BrainHarness::ref(job_, 0, 0));
  harness_.pass(Duration::seconds(500));
  harness_.ended("n1", BrainHarness::ref(job_, 0, 0), 1);
  harness_.pass(Duration::minutes(5));
  harness_.running("n1", BrainHarness::ref(job_, 0, 0, 2));
  harness_.pass(Duration::seconds(10));
  const std::pair<StepIndex, TaskIndex> place(StepIndex(0), TaskIndex(0));
  model::MetricSeries series = reported({{"progress", "0.5"}});
  EXPECT_EQ(text(step({{place, series}}, 0), "eta_seconds"), "(none)") << "of an attempt before";
  series.samples.push_back({13, {{"progress", "0.4"}}});
  series.samples.push_back({14, {{"progress", "0.6"}}});
  EXPECT_EQ(text(step({{place, series}}, 0), "eta_seconds"), "20") << "0.2 took ten seconds";
}

TEST_F(ProgressDocumentTest, AJobIsTheMeanOfItsSteps) {
  begin({brain::testing::step("one", 2), brain::testing::step("two", 1, {0})});
  harness_.running("n1", BrainHarness::ref(job_, 0, 0));
  harness_.running("n1", BrainHarness::ref(job_, 0, 1));
  harness_.pass(Duration::seconds(10));
  harness_.ended("n1", BrainHarness::ref(job_, 0, 0));
  EXPECT_EQ(text(step({}, 0), "share"), "0.5");
  EXPECT_EQ(text(told(), "share"), "0.25");
  EXPECT_EQ(text(told(), "eta_seconds"), "(none)") << "nobody knows how long the second takes";
  harness_.ended("n1", BrainHarness::ref(job_, 0, 1));
  harness_.running("n1", BrainHarness::ref(job_, 1, 0));
  harness_.ended("n1", BrainHarness::ref(job_, 1, 0));
  EXPECT_EQ(text(told(), "share"), "1");
  EXPECT_EQ(text(told(), "eta_seconds"), "0");
}

TEST_F(ProgressDocumentTest, ATrialTellsItsShareByItsSteps) {
  const model::StepSpec spec = searching(2);
  begin({spec});
  harness_.running("n1", BrainHarness::ref(job_, 0, 0));
  harness_.decide(model::NodeReport{NodeId("n1"),
                                    Incarnation("1"),
                                    {},
                                    {{BrainHarness::ref(job_, 0, 0), 4, {{"loss", "1"}}, false}}});
  EXPECT_EQ(text(step({}, 0), "share"), "0.25") << "half of one of two";
}

TEST_F(ProgressDocumentTest, APausedTrialKeepsItsShare) {
  model::StepSpec spec = searching(3);
  spec.checkpoint = model::CheckpointPolicy{"ckpt", Duration(), std::nullopt};
  begin({spec});
  const model::AttemptRef first = BrainHarness::ref(job_, 0, 0);
  harness_.running("n1", first);
  harness_.decide(
      model::NodeReport{NodeId("n1"), Incarnation("1"), {}, {{first, 4, {{"loss", "9"}}}}});
  const std::string running = text(step({}, 0), "share");
  harness_.ended("n1", first, 0, 0, model::EndCause::kStopped);
  ASSERT_EQ(harness_.task_status(job_, 0, 0), model::Status::kPaused);
  EXPECT_EQ(text(step({}, 0), "share"), running);
}

TEST_F(ProgressDocumentTest, ATrialThatWaitsIsStillToCome) {
  harness_.join("n1", 1);
  job_ = harness_.submit({searching(4)});
  for (int trial = 0; trial < 3; ++trial) {
    harness_.running("n1", BrainHarness::ref(job_, 0, trial));
    harness_.pass(Duration::seconds(10));
    harness_.decide(model::NodeReport{NodeId("n1"),
                                      Incarnation("1"),
                                      {},
                                      {{BrainHarness::ref(job_, 0, trial), 8, {{"loss", "1"}}}}});
    harness_.ended("n1", BrainHarness::ref(job_, 0, trial));
  }
  ASSERT_EQ(job().steps[0].study->trials.size(), 4U);
  ASSERT_EQ(harness_.task_status(job_, 0, 3), model::Status::kStarting);
  EXPECT_EQ(text(step({}, 0), "eta_seconds"), "10");
}

TEST_F(ProgressDocumentTest, OnlyTheFirstLiveTasksAreAskedAbout) {
  harness_.join("n1", 40);
  job_ = harness_.submit({brain::testing::step("many", 40)});
  for (int task = 0; task < 40; ++task) harness_.running("n1", BrainHarness::ref(job_, 0, task));
  const auto live = live_tasks(job());
  ASSERT_EQ(live.size(), kLiveShownMax);
  EXPECT_EQ(live.front().second, TaskIndex(0));
  EXPECT_EQ(live.back().second, TaskIndex(kLiveShownMax - 1));
}

}  // namespace
}  // namespace runnel::control
