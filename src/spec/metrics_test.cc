#include "spec/metrics.h"

#include <gtest/gtest.h>

#include "spec/job_file.h"

namespace runnel::spec {
namespace {

using model::LogPattern;

model::MetricSources sources_of(const std::string& metrics) {
  ParseContext context;
  context.workdir = "/project";
  const auto job = MUST(parse_job_file("metrics: " + metrics + "\nrun: 'true'\n", context));
  return job.steps[0].metrics;
}

std::string fault_of(const std::string& metrics) {
  ParseContext context;
  context.workdir = "/project";
  const auto job = parse_job_file("metrics: " + metrics + "\nrun: 'true'\n", context);
  return job.ok() ? "none" : job.error().message;
}

TEST(MetricSources, OnePatternHasNoGroup) {
  const std::vector<LogPattern> expected = {{"", "loss=%{FLOAT:loss}"}};
  EXPECT_EQ(sources_of("{log: 'loss=%{FLOAT:loss}'}").log, expected);
  EXPECT_EQ(sources_of("{log: ['loss=%{FLOAT:loss}']}").log, expected);
  EXPECT_EQ(sources_of("{log: {regex: 'loss=%{FLOAT:loss}'}}").log, expected);
}

TEST(MetricSources, GroupsHoldOnePatternOrSeveral) {
  const std::vector<LogPattern> expected = {
      {"a", "%{INT:x}"}, {"b", "%{INT:y}", 3, "x"}, {"b", "%{INT:z}"}};
  EXPECT_EQ(
      sources_of("{log: {a: '%{INT:x}', b: [{regex: '%{INT:y}', lines: 3, step: x}, '%{INT:z}']}}")
          .log,
      expected);
}

TEST(MetricSources, AStepMayBeCaughtByAnotherPattern) {
  EXPECT_EQ(fault_of("{log: [{regex: '%{INT:y}', step: x}, '%{INT:x}']}"), "none");
  EXPECT_EQ(fault_of("{log: [{regex: '%{INT:y}', step: x}]}"), "no pattern has the field 'x'");
}

TEST(MetricSources, VariablesStayInPatternsAsTheyAre) {
  EXPECT_EQ(sources_of("{log: '%{INT:x}${HOME}{{y}}'}").log[0].regex, "%{INT:x}${HOME}{{y}}");
}

TEST(MetricSources, AreBounded) {
  std::string many = "[";
  for (std::size_t i = 0; i <= model::kLogPatternsMax; ++i) many += "'%{INT:x}',";
  EXPECT_EQ(fault_of("{log: " + many + "]}"), "33 patterns are more than 32");
  EXPECT_EQ(fault_of("{log: '%{INT:x}" + std::string(4'096, 'x') + "'}"),
            "4104 bytes are more than 4096");
}

TEST(MetricSources, OfTheFileHoldForStepsThatHaveNone) {
  ParseContext context;
  context.workdir = "/project";
  const auto job = MUST(parse_job_file(
      "metrics: {tensorboard: tb}\nsteps: {a: {run: x}, b: {run: x, metrics: {log: '%{INT:y}'}}}\n",
      context));
  EXPECT_EQ(job.steps[0].metrics.tensorboard, "tb");
  EXPECT_EQ(job.steps[1].metrics, (model::MetricSources{{{"", "%{INT:y}"}}, ""}));
}

TEST(MetricSources, NothingIsNoSource) {
  for (const char* log : {"[]", "{}", "''", "{regex: ''}", "{train: []}"}) {
    const Result<model::JobSpec> job =
        parse_job_file(std::string("run: a\nmetrics: {log: ") + log + "}\n", {});
    EXPECT_FALSE(job.ok() && job->steps[0].metrics.log.empty()) << log;
  }
}

}  // namespace
}  // namespace runnel::spec
