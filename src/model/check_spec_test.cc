#include <functional>

#include <gtest/gtest.h>

#include "model/spec.h"
#include "model/testing/random_model.h"

namespace runnel::model {
namespace {

JobSpec valid() {
  JobSpec spec{.name = "job", .workdir = "/home/ann"};
  spec.steps.push_back(StepSpec{.name = "first", .run = Command::shell("true")});
  spec.steps.push_back(
      StepSpec{.name = "second", .depends_on = {StepIndex(0)}, .run = Command::words({"true"})});
  return spec;
}

// The field that check_spec() names after `change`; empty when it finds no fault.
std::string fault(const std::function<void(JobSpec&)>& change) {
  JobSpec spec = valid();
  change(spec);
  const Result<void> result = check_spec(spec);
  if (result.ok()) return "";
  EXPECT_EQ(result.error().code, Errc::kInvalid);
  EXPECT_FALSE(result.error().message.empty());
  return result.error().field;
}

std::string step_fault(const std::function<void(StepSpec&)>& change) {
  return fault([&](JobSpec& spec) { change(spec.steps[1]); });
}

std::string parameter_fault(const Parameter& parameter) {
  return step_fault([&](StepSpec& step) {
    step.params = {parameter};
    step.samples = 4;
    step.task_count = 4;
  });
}

Parameter interval(Parameter::Kind kind, std::string low, std::string high) {
  return Parameter{.name = "x", .kind = kind, .low = std::move(low), .high = std::move(high)};
}

TEST(CheckSpec, AcceptsWhatIsRight) {
  EXPECT_EQ(fault([](JobSpec&) {}), "");
  RandomModel random(5);
  for (int round = 0; round < 500; ++round) {
    const Result<void> result = check_spec(random.spec());
    ASSERT_TRUE(result.ok()) << result.error().to_string();
  }
}

// A search whose trials somebody else runs.
TEST(CheckSpec, WhatNobodyRunsHereHasNeitherRanksNorCheckpoints) {
  const auto outside = [](const std::function<void(StepSpec&)>& change) {
    return step_fault([&](StepSpec& step) {
      step.run = ExternalTrials();
      step.params = {interval(Parameter::Kind::kUniform, "0", "1")};
      step.search = SearchSpec{.objectives = {{"loss", false}}, .max_trials = 4};
      step.task_count = 4;
      change(step);
    });
  };
  EXPECT_EQ(outside([](StepSpec&) {}), "");
  EXPECT_EQ(outside([](StepSpec& step) { step.num_nodes = 2; }), "steps[1].num_nodes");
  EXPECT_EQ(outside([](StepSpec& step) { step.procs_per_node = 2; }), "steps[1].num_nodes");
  EXPECT_EQ(outside([](StepSpec& step) { step.checkpoint.emplace(); }), "steps[1].checkpoint");
  EXPECT_EQ(outside([](StepSpec& step) { step.search.reset(); }), "steps[1].run");
}

TEST(CheckSpec, Jobs) {
  EXPECT_EQ(fault([](JobSpec& spec) { spec.steps.clear(); }), "steps");
  EXPECT_EQ(fault([](JobSpec& spec) { spec.name = std::string(256, 'n'); }), "name");
  EXPECT_EQ(fault([](JobSpec& spec) { spec.workdir = std::string("/a\0b", 4); }), "workdir");
  EXPECT_EQ(fault([](JobSpec& spec) { spec.steps[1].name = "first"; }), "steps[1].name");
  EXPECT_EQ(fault([](JobSpec& spec) {
              spec.steps.assign(kStepsMax + 1,
                                StepSpec{.name = "s", .run = Command::shell("true")});
            }),
            "steps");
}

TEST(CheckSpec, TheShellsVariablesStandOnceEachAndSorted) {
  using Variables = std::vector<std::pair<std::string, std::string>>;
  const auto with = [](Variables variables) {
    return fault([&](JobSpec& spec) { spec.environment = std::move(variables); });
  };
  EXPECT_EQ(with({{"HOME", "/root"}, {"PATH", ""}}), "");
  EXPECT_EQ(with({{"PATH", "/a"}, {"HOME", "/root"}}), "environment");
  EXPECT_EQ(with({{"PATH", "/a"}, {"PATH", "/b"}}), "environment");
  EXPECT_EQ(with({{"", "x"}}), "environment");
  EXPECT_EQ(with({{"A=B", "x"}}), "environment");
  EXPECT_EQ(with({{"A", std::string("x\0y", 3)}}), "environment");
  EXPECT_EQ(with({{"A", std::string(kScriptBytesMax + 1, 'x')}}), "environment");
}

std::string metrics_fault(const MetricSources& metrics) {
  return step_fault([&](StepSpec& step) { step.metrics = metrics; });
}

TEST(CheckSpec, Metrics) {
  EXPECT_EQ(metrics_fault({{{"train", "a", 16, "at"}, {"", "b"}}, "out/tb"}), "");
  EXPECT_EQ(metrics_fault({{{"train", ""}}, ""}), "steps[1].metrics.log[0].regex");
  EXPECT_EQ(metrics_fault({{{"", "a"}, {"", std::string(kLogPatternBytesMax + 1, 'a')}}, ""}),
            "steps[1].metrics.log[1].regex");
  EXPECT_EQ(metrics_fault({{{"", "a", 0}}, ""}), "steps[1].metrics.log[0].lines");
  EXPECT_EQ(metrics_fault({{{"", "a", 17}}, ""}), "steps[1].metrics.log[0].lines");
  EXPECT_EQ(metrics_fault({{{"", "a", 1, ""}}, ""}), "steps[1].metrics.log[0].step");
  EXPECT_EQ(metrics_fault({{{std::string(300, 'g'), "a"}}, ""}), "steps[1].metrics.log[0].group");
  EXPECT_EQ(metrics_fault({std::vector<LogPattern>(33, {"", "a"}), ""}), "steps[1].metrics.log");
}

TEST(CheckSpec, TensorBoardStaysInTheTasksFolder) {
  for (const char* folder : {"/tb", "..", "a/../b", "../tb"}) {
    EXPECT_EQ(metrics_fault({{}, folder}), "steps[1].metrics.tensorboard") << folder;
  }
  for (const char* folder : {"tb", "./tb", "a..b/tb/"})
    EXPECT_EQ(metrics_fault({{}, folder}), "") << folder;
}

TEST(CheckSpec, Dependencies) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.depends_on = {StepIndex(2)}; }),
            "steps[1].depends_on[0]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.depends_on = {StepIndex(-1)}; }),
            "steps[1].depends_on[0]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.depends_on = {StepIndex(0), StepIndex(0)}; }),
            "steps[1].depends_on[1]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.depends_on = {StepIndex(1)}; }), "steps");
  EXPECT_EQ(fault([](JobSpec& spec) { spec.steps[0].depends_on = {StepIndex(1)}; }), "steps");
}

TEST(CheckSpec, ALongChainIsNoCircle) {
  JobSpec spec;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(kStepsMax); ++i) {
    spec.steps.push_back(StepSpec{.name = "s" + std::to_string(i), .run = Command::shell("true")});
    if (i > 0) spec.steps.back().depends_on = {StepIndex(i - 1)};
  }
  EXPECT_TRUE(check_spec(spec).ok());
  spec.steps[0].depends_on = {StepIndex(static_cast<std::int32_t>(kStepsMax) - 1)};
  EXPECT_FALSE(check_spec(spec).ok());
}

TEST(CheckSpec, Programs) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.run = Command(); }), "steps[1].run");
  EXPECT_EQ(step_fault([](StepSpec& step) { std::get<Command>(step.run).script = "true"; }),
            "steps[1].run");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.run = Command::words({""}); }),
            "steps[1].command");
  EXPECT_EQ(
      step_fault([](StepSpec& step) { step.run = Command::words({"a", std::string(1, '\0')}); }),
      "steps[1].command[1]");
  EXPECT_EQ(step_fault([](StepSpec& step) {
              step.run = Command::words(std::vector<std::string>(kScriptBytesMax, "x"));
            }),
            "steps[1].command");
  EXPECT_EQ(fault([](JobSpec& spec) {
              spec.steps[0].run = Command::shell(std::string(kScriptBytesMax + 1, 'x'));
            }),
            "steps[0].run");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.name = ""; }), "steps[1].name");
}

TEST(CheckSpec, Tasks) {
  const Parameter two{.name = "x", .values = {"1", "2"}};
  EXPECT_EQ(step_fault([&](StepSpec& step) { step.params = {two}; }), "steps[1].task_count");
  EXPECT_EQ(step_fault([&](StepSpec& step) {
              step.params = {two, two};
              step.task_count = 4;
            }),
            "steps[1].params[1].name");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.samples = 0; }), "steps[1].samples");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.samples = kTasksPerStepMax + 1; }),
            "steps[1].samples");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.samples = 3; }), "steps[1].task_count");
  EXPECT_EQ(step_fault([](StepSpec& step) {
              step.params = {interval(Parameter::Kind::kUniform, "0", "1")};
            }),
            "steps[1].samples");
}

TEST(CheckSpec, GridsHaveALimitAndNeverOverflow) {
  const Parameter wide =
      interval(Parameter::Kind::kRange, "-9223372036854775808", "9223372036854775807");
  EXPECT_EQ(step_fault([&](StepSpec& step) { step.params = {wide}; }), "steps[1].params");
  const Parameter million = interval(Parameter::Kind::kRange, "1", "1000000");
  EXPECT_EQ(step_fault([&](StepSpec& step) {
              for (int i = 0; i < 9; ++i) {
                step.params.push_back(million);
                step.params.back().name = "p" + std::to_string(i);
              }
            }),
            "steps[1].params");
  EXPECT_EQ(step_fault([](StepSpec& step) {
              step.params = {interval(Parameter::Kind::kRange, "1", "100000000")};
              step.task_count = 100'000'000;
            }),
            "");
}

TEST(CheckSpec, Parameters) {
  using enum Parameter::Kind;
  EXPECT_EQ(parameter_fault(interval(kUniform, "-1.5", "2e3")), "");
  EXPECT_EQ(parameter_fault(interval(kLogUniform, "1e-4", "1e-1")), "");
  EXPECT_EQ(parameter_fault(interval(kRange, "3", "3")), "");
  EXPECT_EQ(parameter_fault(interval(kRange, "4", "3")), "steps[1].params[0].high");
  EXPECT_EQ(parameter_fault(interval(kRange, "1.5", "3")), "steps[1].params[0].low");
  EXPECT_EQ(parameter_fault(interval(kRange, "1", "99999999999999999999")),
            "steps[1].params[0].high");
  EXPECT_EQ(parameter_fault(interval(kUniform, "1", "1")), "steps[1].params[0].high");
  EXPECT_EQ(parameter_fault(interval(kUniform, "nan", "1")), "steps[1].params[0].low");
  EXPECT_EQ(parameter_fault(interval(kUniform, "0", "inf")), "steps[1].params[0].high");
  EXPECT_EQ(parameter_fault(interval(kUniform, "0", "1x")), "steps[1].params[0].high");
  EXPECT_EQ(parameter_fault(interval(kUniform, "", "1")), "steps[1].params[0].low");
  EXPECT_EQ(parameter_fault(interval(kLogUniform, "0", "1")), "steps[1].params[0].low");
  EXPECT_EQ(parameter_fault({.name = "", .values = {"1"}}), "steps[1].params[0].name");
  EXPECT_EQ(parameter_fault({.name = "x"}), "steps[1].params[0].values");
  EXPECT_EQ(parameter_fault({.name = "x", .values = {"1"}, .low = "1"}), "steps[1].params[0].low");
  EXPECT_EQ(parameter_fault({.name = "x", .values = {"1"}, .high = "1"}),
            "steps[1].params[0].high");
  EXPECT_EQ(
      parameter_fault({.name = "x", .kind = kRange, .values = {"1"}, .low = "1", .high = "2"}),
      "steps[1].params[0].values");
}

TEST(CheckSpec, Places) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.num_nodes = 0; }), "steps[1].num_nodes");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.procs_per_node = -1; }),
            "steps[1].procs_per_node");
  EXPECT_EQ(step_fault([](StepSpec& step) {
              step.num_nodes = 100'000;
              step.procs_per_node = 100'000;
            }),
            "steps[1].procs_per_node");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.parallel = 0; }), "steps[1].parallel");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.resources.memory = Bytes::count(-1); }),
            "steps[1].resources.memory");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.resources.accelerators["H100"] = -1; }),
            "steps[1].resources.accelerators.H100");
}

TEST(CheckSpec, Policies) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.retry.max = -1; }), "steps[1].retry.max");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.retry.on_exit_codes = {1, 256}; }),
            "steps[1].retry.on_exit_codes[1]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.retry.on_events = {"boredom"}; }),
            "steps[1].retry.on_events[0]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.retry.backoff_min = Duration::seconds(1); }),
            "steps[1].retry.backoff_max");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.checkpoint = CheckpointPolicy{}; }),
            "steps[1].checkpoint.dir");
  EXPECT_EQ(
      step_fault([](StepSpec& step) { step.checkpoint = CheckpointPolicy{"ckpt", Duration(), 0}; }),
      "steps[1].checkpoint.exit_code");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.grace = Duration::millis(-1); }),
            "steps[1].grace");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.max_duration = Duration::millis(-1); }),
            "steps[1].max_duration");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.max_log = Bytes::count(-1); }),
            "steps[1].max_log");
}

TEST(CheckSpec, Health) {
  const auto health_fault = [](const std::function<void(HealthPolicy&)>& change) {
    return step_fault([&](StepSpec& step) {
      step.num_nodes = 2;
      change(step.health);
    });
  };
  using Action = HealthAction;
  const Duration second = Duration::seconds(1);
  EXPECT_EQ(health_fault([&](HealthPolicy& health) {
              health = {HangPolicy{second, Action::kKill}, NanPolicy{"loss", Action::kWarn},
                        StragglerPolicy{1'001, Action::kKill}};
            }),
            "");
  EXPECT_EQ(health_fault([](HealthPolicy& health) {
              health.hang = HangPolicy{Duration::millis(999), Action::kWarn};
            }),
            "steps[1].health.hang.after");
  EXPECT_EQ(
      health_fault([](HealthPolicy& health) { health.nan = NanPolicy{"", Action::kRestart}; }),
      "steps[1].health.nan.action")
      << "nothing pays for it";
  EXPECT_EQ(health_fault([](HealthPolicy& health) {
              health.nan = NanPolicy{std::string(256, 'x'), Action::kWarn};
            }),
            "steps[1].health.nan.metric");
  EXPECT_EQ(health_fault([](HealthPolicy& health) {
              health.straggler = StragglerPolicy{1'000, Action::kWarn};
            }),
            "steps[1].health.straggler.factor_permille");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.health.straggler.emplace(); }),
            "steps[1].health.straggler")
      << "one rank";
}

TEST(CheckSpec, Environment) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.envs = {{"B", ""}, {"A", ""}}; }),
            "steps[1].envs");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.envs = {{"A", "1"}, {"A", "2"}}; }),
            "steps[1].envs");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.envs = {{"A=B", ""}}; }), "steps[1].envs");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.envs = {{"", ""}}; }), "steps[1].envs");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.secrets = {{"A", "vault:x"}}; }),
            "steps[1].secrets[0].source");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.secrets = {{"A", "env:X"}, {"A", "env:Y"}}; }),
            "steps[1].secrets[1].name");
}

}  // namespace
}  // namespace runnel::model
