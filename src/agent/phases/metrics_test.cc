#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "agent/phases/metric_plan.h"
#include "agent/phases/metrics_begin.h"
#include "agent/phases/output_begin.h"
#include "env/testing/temporary_directory.h"
#include "output/metrics_begin.h"
#include "output/metrics_file.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

class MetricPhasesTest : public ::testing::Test {
 protected:
  model::StartOrder order_of(std::int32_t attempt) const {
    model::StartOrder order;
    order.attempt = {{JobId("job"), StepIndex(0), TaskIndex(3)}, AttemptNumber(attempt)};
    order.objectives = {"loss"};
    order.is_followed = true;
    order.metrics.tensorboard = "events";
    return order;
  }
  Result<Readiness> prepare(const Phase& phase, const model::StartOrder& order) {
    PathTrail trail(home_.path());
    return phase.prepare(NodeId("n1"), order, {}, trail);
  }
  void report(const std::string& line) {
    const std::string path =
        output::metrics_path(output::task_folder(home_.path(), order_of(1).attempt.task));
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::app) << line;
  }

  env::testing::TemporaryDirectory home_;
};

TEST_F(MetricPhasesTest, APlanIsKeptOncePerStep) {
  output::MetricPlans known;
  const MetricPlanPhase phase(home_.path(), known);
  const model::StartOrder order = order_of(1);
  ASSERT_TRUE(phase.is_needed(order));
  const output::MetricPlanPtr plan = MUST(prepare(phase, order)).plan;
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->sources.tensorboard, "events");
  EXPECT_TRUE(output::load_metric_plan(home_.path(), JobId("job"), StepIndex(0)))
      << "for whoever reads metrics later";
  known.remember({JobId("job"), StepIndex(0)}, plan);
  EXPECT_FALSE(phase.is_needed(order));
  model::StartOrder other = order;
  other.first_rank = 1;
  EXPECT_FALSE(MetricPlanPhase::concerns(other)) << "rank 0 alone reports";
}

TEST_F(MetricPhasesTest, WhatEarlierAttemptsReportedIsNotTheRetrysWord) {
  const MetricsBeginPhase phase(home_.path());
  EXPECT_FALSE(phase.is_needed(order_of(1)));
  const model::StartOrder retry = order_of(2);
  ASSERT_TRUE(phase.is_needed(retry));
  report("{\"loss\": 1}\n");
  MUST(prepare(phase, retry));
  EXPECT_EQ(output::metrics_begin_of(home_.path(), retry.attempt).file, 12);
  report("{\"loss\": 2}\n");
  MUST(prepare(phase, order_of(3)));
  EXPECT_EQ(output::metrics_begin_of(home_.path(), order_of(3).attempt).file, 24);
}

TEST_F(MetricPhasesTest, OutputIsReadFromTheIndexAsItIs) {
  const OutputBeginPhase phase(home_.path());
  model::StartOrder order = order_of(1);
  EXPECT_FALSE(phase.is_needed(order)) << "no metrics are read from its output";
  order.metrics.log.emplace_back();
  EXPECT_TRUE(phase.is_needed(order));
  EXPECT_EQ(MUST(prepare(phase, order)).output_from, 0) << "nothing has been written yet";
  EXPECT_TRUE(phase.traits().is_optional);
}

}  // namespace
}  // namespace runnel::agent
