#include "model/check_spec.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

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
  const std::vector<Error> faults = check_spec(spec, Rules::kStored);
  for (const Error& each : faults) {
    EXPECT_EQ(each.code, Errc::kInvalid);
    EXPECT_FALSE(each.message.empty());
    EXPECT_FALSE(each.hint.empty()) << each.to_string();
  }
  return faults.empty() ? "" : faults.front().field;
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
    const Result<void> result = check_stored(random.spec());
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
  EXPECT_EQ(outside([](StepSpec& step) { step.num_nodes = 2; }), "steps.second.num_nodes");
  EXPECT_EQ(outside([](StepSpec& step) { step.procs_per_node = 2; }), "steps.second.num_nodes");
  EXPECT_EQ(outside([](StepSpec& step) { step.checkpoint.emplace(); }), "steps.second.checkpoint");
  EXPECT_EQ(outside([](StepSpec& step) { step.search.reset(); }), "steps.second.run");
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
  EXPECT_EQ(metrics_fault({{{"train", ""}}, ""}), "steps.second.metrics.log[0].regex");
  EXPECT_EQ(metrics_fault({{{"", "a"}, {"", std::string(kLogPatternBytesMax + 1, 'a')}}, ""}),
            "steps.second.metrics.log[1].regex");
  EXPECT_EQ(metrics_fault({{{"", "a", 0}}, ""}), "steps.second.metrics.log[0].lines");
  EXPECT_EQ(metrics_fault({{{"", "a", 17}}, ""}), "steps.second.metrics.log[0].lines");
  EXPECT_EQ(metrics_fault({{{"", "a", 1, ""}}, ""}), "steps.second.metrics.log[0].step");
  EXPECT_EQ(metrics_fault({{{std::string(300, 'g'), "a"}}, ""}),
            "steps.second.metrics.log[0].group");
  EXPECT_EQ(metrics_fault({std::vector<LogPattern>(33, {"", "a"}), ""}),
            "steps.second.metrics.log");
}

TEST(CheckSpec, TensorBoardStaysInTheTasksFolder) {
  for (const char* folder : {"/tb", "..", "a/../b", "../tb"}) {
    EXPECT_EQ(metrics_fault({{}, folder}), "steps.second.metrics.tensorboard") << folder;
  }
  for (const char* folder : {"tb", "./tb", "a..b/tb/"})
    EXPECT_EQ(metrics_fault({{}, folder}), "") << folder;
}

TEST(CheckSpec, Dependencies) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.depends_on = {StepIndex(2)}; }),
            "steps.second.depends_on[0]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.depends_on = {StepIndex(-1)}; }),
            "steps.second.depends_on[0]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.depends_on = {StepIndex(0), StepIndex(0)}; }),
            "steps.second.depends_on[1]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.depends_on = {StepIndex(1)}; }),
            "steps.second.depends_on");
  EXPECT_EQ(fault([](JobSpec& spec) { spec.steps[0].depends_on = {StepIndex(1)}; }),
            "steps.second.depends_on");
}

TEST(CheckSpec, ALongChainIsNoCircle) {
  JobSpec spec;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(kStepsMax); ++i) {
    spec.steps.push_back(StepSpec{.name = "s" + std::to_string(i), .run = Command::shell("true")});
    if (i > 0) spec.steps.back().depends_on = {StepIndex(i - 1)};
  }
  EXPECT_TRUE(check_stored(spec).ok());
  spec.steps[0].depends_on = {StepIndex(static_cast<std::int32_t>(kStepsMax) - 1)};
  EXPECT_FALSE(check_stored(spec).ok());
}

TEST(CheckSpec, Programs) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.run = Command(); }), "steps.second.run");
  EXPECT_EQ(step_fault([](StepSpec& step) { std::get<Command>(step.run).script = "true"; }),
            "steps.second.command");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.run = Command::words({""}); }),
            "steps.second.command");
  EXPECT_EQ(
      step_fault([](StepSpec& step) { step.run = Command::words({"a", std::string(1, '\0')}); }),
      "steps.second.command[1]");
  EXPECT_EQ(step_fault([](StepSpec& step) {
              step.run = Command::words(std::vector<std::string>(kScriptBytesMax, "x"));
            }),
            "steps.second.command");
  EXPECT_EQ(fault([](JobSpec& spec) {
              spec.steps[0].run = Command::shell(std::string(kScriptBytesMax + 1, 'x'));
            }),
            "steps.first.run");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.name = ""; }), "steps[1].name");
}

TEST(CheckSpec, Tasks) {
  const Parameter two{.name = "x", .values = {"1", "2"}};
  EXPECT_EQ(step_fault([&](StepSpec& step) { step.params = {two}; }), "steps.second.task_count");
  EXPECT_EQ(step_fault([&](StepSpec& step) {
              step.params = {two, two};
              step.task_count = 4;
            }),
            "steps.second.params.x.name");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.samples = 0; }), "steps.second.samples");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.samples = kTasksPerStepMax + 1; }),
            "steps.second.samples");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.samples = 3; }), "steps.second.task_count");
  EXPECT_EQ(step_fault([](StepSpec& step) {
              step.params = {interval(Parameter::Kind::kUniform, "0", "1")};
            }),
            "steps.second.params");
}

TEST(CheckSpec, GridsHaveALimitAndNeverOverflow) {
  const Parameter wide =
      interval(Parameter::Kind::kRange, "-9223372036854775808", "9223372036854775807");
  EXPECT_EQ(step_fault([&](StepSpec& step) { step.params = {wide}; }), "steps.second.params");
  const Parameter million = interval(Parameter::Kind::kRange, "1", "1000000");
  EXPECT_EQ(step_fault([&](StepSpec& step) {
              for (int i = 0; i < 9; ++i) {
                step.params.push_back(million);
                step.params.back().name = "p" + std::to_string(i);
              }
            }),
            "steps.second.params");
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
  EXPECT_EQ(parameter_fault(interval(kRange, "4", "3")), "steps.second.params.x.high");
  EXPECT_EQ(parameter_fault(interval(kRange, "1.5", "3")), "steps.second.params.x.low");
  EXPECT_EQ(parameter_fault(interval(kRange, "1", "99999999999999999999")),
            "steps.second.params.x.high");
  EXPECT_EQ(parameter_fault(interval(kUniform, "1", "1")), "steps.second.params.x.high");
  EXPECT_EQ(parameter_fault(interval(kUniform, "nan", "1")), "steps.second.params.x.low");
  EXPECT_EQ(parameter_fault(interval(kUniform, "0", "inf")), "steps.second.params.x.high");
  EXPECT_EQ(parameter_fault(interval(kUniform, "0", "1x")), "steps.second.params.x.high");
  EXPECT_EQ(parameter_fault(interval(kUniform, "", "1")), "steps.second.params.x.low");
  EXPECT_EQ(parameter_fault(interval(kLogUniform, "0", "1")), "steps.second.params.x.low");
  EXPECT_EQ(parameter_fault({.name = "", .values = {"1"}}), "steps.second.params[0].name");
  EXPECT_EQ(parameter_fault({.name = "x"}), "steps.second.params.x.values");
  EXPECT_EQ(parameter_fault({.name = "x", .values = {"1"}, .low = "1"}),
            "steps.second.params.x.low");
  EXPECT_EQ(parameter_fault({.name = "x", .values = {"1"}, .high = "1"}),
            "steps.second.params.x.high");
  EXPECT_EQ(
      parameter_fault({.name = "x", .kind = kRange, .values = {"1"}, .low = "1", .high = "2"}),
      "steps.second.params.x.values");
}

TEST(CheckSpec, Places) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.num_nodes = 0; }), "steps.second.num_nodes");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.procs_per_node = -1; }),
            "steps.second.procs_per_node");
  EXPECT_EQ(step_fault([](StepSpec& step) {
              step.num_nodes = 100'000;
              step.procs_per_node = 100'000;
            }),
            "steps.second.num_nodes");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.parallel = 0; }), "steps.second.parallel");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.resources.memory = Bytes::count(-1); }),
            "steps.second.resources.memory");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.resources.accelerators["H100"] = -1; }),
            "steps.second.resources.accelerators.H100");
}

TEST(CheckSpec, Policies) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.retry.max = -1; }), "steps.second.retry.max");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.retry.on_exit_codes = {1, 256}; }),
            "steps.second.retry.on_exit_codes[1]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.retry.on_events = {"boredom"}; }),
            "steps.second.retry.on_events[0]");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.retry.backoff_min = Duration::seconds(1); }),
            "steps.second.retry.backoff_max");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.checkpoint = CheckpointPolicy{}; }),
            "steps.second.checkpoint.dir");
  EXPECT_EQ(
      step_fault([](StepSpec& step) { step.checkpoint = CheckpointPolicy{"ckpt", Duration(), 0}; }),
      "steps.second.checkpoint.exit_code");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.grace = Duration::millis(-1); }),
            "steps.second.grace");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.max_duration = Duration::millis(-1); }),
            "steps.second.max_duration");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.max_log = Bytes::count(-1); }),
            "steps.second.max_log");
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
            "steps.second.health.hang.after");
  EXPECT_EQ(
      health_fault([](HealthPolicy& health) { health.nan = NanPolicy{"", Action::kRestart}; }),
      "steps.second.health.nan.action")
      << "nothing pays for it";
  EXPECT_EQ(health_fault([](HealthPolicy& health) {
              health.nan = NanPolicy{std::string(256, 'x'), Action::kWarn};
            }),
            "steps.second.health.nan.metric");
  EXPECT_EQ(health_fault([](HealthPolicy& health) {
              health.straggler = StragglerPolicy{1'000, Action::kWarn};
            }),
            "steps.second.health.straggler.factor_permille");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.health.straggler.emplace(); }),
            "steps.second.health.straggler")
      << "one rank";
}

TEST(CheckSpec, Environment) {
  EXPECT_EQ(step_fault([](StepSpec& step) { step.envs = {{"B", ""}, {"A", ""}}; }),
            "steps.second.envs.A");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.envs = {{"A", "1"}, {"A", "2"}}; }),
            "steps.second.envs.A");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.envs = {{"A=B", ""}}; }), "steps.second.envs.A=B");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.envs = {{"", ""}}; }), "steps.second.envs.");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.secrets = {{"A", "vault:x"}}; }),
            "steps.second.secrets.A");
  EXPECT_EQ(step_fault([](StepSpec& step) { step.secrets = {{"A", "env:X"}, {"A", "env:Y"}}; }),
            "steps.second.secrets.A");
}

TEST(CheckSpec, Volumes) {
  const VolumeUse use{"data", "fashion", "0123456789abcdef", "file:///volumes"};
  EXPECT_EQ(step_fault([&](StepSpec& step) { step.volumes = {use}; }), "");
  EXPECT_EQ(step_fault([&](StepSpec& step) { step.volumes = {use, use}; }),
            "steps.second.volumes.data");
  EXPECT_EQ(step_fault([&](StepSpec& step) {
              step.volumes = {use};
              step.volumes[0].volume.clear();
            }),
            "steps.second.volumes.data.volume");
  EXPECT_EQ(step_fault([&](StepSpec& step) { step.volumes.assign(kVolumesMax + 1, use); }),
            "steps.second.volumes");
}

// What a new job is refused for, besides.

std::vector<std::string> fields_of(const JobSpec& spec) {
  std::vector<std::string> fields;
  for (const Error& fault : check_spec(spec)) fields.push_back(fault.field);
  return fields;
}

using Paths = std::vector<std::string>;

// A search, a step after it, and one that waits for the search through that.
JobSpec searched() {
  JobSpec spec{.name = "job", .workdir = "/tmp"};
  StepSpec search{.name = "search",
                  .run = Command::shell("train --lr {{lr}} --seed {{task.index}}")};
  search.params = {interval(Parameter::Kind::kUniform, "0", "1")};
  search.params[0].name = "lr";
  search.search = SearchSpec{.objectives = {{"loss", false}}, .max_trials = 4};
  search.task_count = 4;
  StepSpec between{.name = "between", .depends_on = {StepIndex(0)}, .run = Command::shell("true")};
  StepSpec use{.name = "use",
               .depends_on = {StepIndex(1)},
               .run = Command::shell("train {{best.search.lr}}")};
  use.checkpoint = CheckpointPolicy{.dir = "ckpt/{{job.id}}"};
  spec.steps = {search, between, use};
  return spec;
}

TEST(CheckSpec, TellsEveryFaultByItsPath) {
  JobSpec spec = searched();
  spec.name = "../job";
  spec.workdir = "here";
  spec.steps[0].retry.max = 10'001;
  spec.steps[0].envs = {{"RATE", "{{rate}}"}};
  spec.steps[1].name = "a.b";
  spec.steps[1].run = Command::shell("{{lr}} {{task.index");
  spec.steps[2].checkpoint->dir = "../ckpt";
  spec.steps[2].resources.accelerators = {{"H100", 1}, {"a b", 0}};
  EXPECT_EQ(fields_of(spec),
            (Paths{"name", "workdir", "steps.search.retry.max", "steps.search.envs.RATE",
                   "steps[1].name", "steps[1].run", "steps[1].run",
                   "steps.use.resources.accelerators.a b", "steps.use.resources.accelerators.a b",
                   "steps.use.resources.accelerators", "steps.use.checkpoint.dir"}));
  EXPECT_TRUE(check_stored(spec).ok()) << "what an older home has taken goes on being read";
}

// The fields that a change of the search's step is refused at, as a new job.
Paths new_faults(const std::function<void(StepSpec&)>& change) {
  JobSpec spec = searched();
  change(spec.steps[0]);
  EXPECT_TRUE(check_stored(spec).ok()) << "an older home may have it";
  return fields_of(spec);
}

TEST(CheckSpec, ANewJobKeepsLimitsOfALaterDay) {
  EXPECT_EQ(new_faults([](StepSpec& step) { step.retry.on_exit_codes = {75, 0}; }),
            Paths{"steps.search.retry.on_exit_codes[1]"});
  EXPECT_EQ(new_faults([](StepSpec& step) { step.parallel = kTasksPerStepMax + 1; }),
            Paths{"steps.search.parallel"});
  EXPECT_EQ(new_faults([](StepSpec& step) { step.resources.memory = Bytes::count(5); }),
            Paths{"steps.search.resources.memory"});
  EXPECT_EQ(new_faults([](StepSpec& step) { step.max_log = Bytes::count(5); }),
            Paths{"steps.search.max_log"});
  EXPECT_EQ(new_faults([](StepSpec& step) { step.max_duration = kDurationMax + kSilenceMin; }),
            Paths{"steps.search.max_duration"});
  EXPECT_EQ(new_faults([](StepSpec& step) {
              step.checkpoint = CheckpointPolicy{.dir = "ckpt", .every = Duration::millis(1)};
            }),
            Paths{"steps.search.checkpoint.every"});
  EXPECT_EQ(new_faults([](StepSpec& step) {
              step.params.push_back({.name = "n",
                                     .kind = Parameter::Kind::kRange,
                                     .low = "0",
                                     .high = std::to_string(kRangeEndMax + 1)});
            }),
            Paths{"steps.search.params.n.high"});
}

TEST(CheckSpec, ANewJobStaysInItsFolders) {
  for (const char* dir : {"/ckpt", "../ckpt", "a/../../b", "~/ckpt"}) {
    EXPECT_EQ(new_faults([&](StepSpec& step) { step.checkpoint = CheckpointPolicy{.dir = dir}; }),
              Paths{"steps.search.checkpoint.dir"})
        << dir;
  }
  EXPECT_EQ(new_faults([](StepSpec& step) { step.metrics.tensorboard = "~tb"; }),
            Paths{"steps.search.metrics.tensorboard"});
}

TEST(CheckSpec, ANewJobReadsVolumesThatCanBe) {
  const auto with = [](VolumeUse use) {
    return new_faults([&](StepSpec& step) { step.volumes = {use}; });
  };
  EXPECT_EQ(with({"data", "fashion", "latest", ""}), Paths{});
  EXPECT_EQ(with({"data", "Fashion", "latest", ""}), Paths{"steps.search.volumes.data.volume"});
  EXPECT_EQ(with({"data", "fashion", "a/b", ""}), Paths{"steps.search.volumes.data.version"});
  EXPECT_EQ(with({"a b", "fashion", "latest", ""}), Paths{"steps.search.volumes[0].name"});
  EXPECT_EQ(with({"data", "fashion", "", "", false, VolumeMode::kWrite}), Paths{});
  EXPECT_EQ(with({"data", "fashion", "v1", "", false, VolumeMode::kWrite}),
            Paths{"steps.search.volumes.data.version"});
  for (const char* store : {"--help", "file://../x", "gs://bucket", "s3:bucket"}) {
    EXPECT_EQ(with({"data", "fashion", "latest", store}), Paths{"steps.search.volumes.data.store"});
  }
  EXPECT_EQ(new_faults([](StepSpec& step) {
              step.volumes = {{"a-b", "fashion", "latest", ""}, {"a_b", "fashion", "latest", ""}};
            }),
            Paths{"steps.search.volumes.a_b"})
      << "one variable, two folders";
}

TEST(CheckSpec, ANewJobHasNamesThatAreSome) {
  EXPECT_EQ(new_faults([](StepSpec& step) { step.envs = {{"1A", ""}, {"RUNNEL_JOB_ID", ""}}; }),
            (Paths{"steps.search.envs.1A", "steps.search.envs.RUNNEL_JOB_ID"}));
  EXPECT_EQ(new_faults([](StepSpec& step) { step.secrets = {{"A", "file:relative"}}; }),
            Paths{"steps.search.secrets.A"});
  EXPECT_EQ(new_faults([](StepSpec& step) {
              step.envs = {{"A", ""}};
              step.secrets = {{"A", "env:A"}};
            }),
            Paths{"steps.search.secrets.A"})
      << "one variable, two values";
  EXPECT_EQ(new_faults([](StepSpec& step) { step.metrics.log = {{"a group", "%{INT:x}"}}; }),
            Paths{"steps.search.metrics.log[0].group"});
  EXPECT_EQ(
      new_faults([](StepSpec& step) { step.params.push_back({.name = "1", .values = {"a"}}); }),
      Paths{"steps.search.params[1].name"});
}

TEST(CheckSpec, ANewSearchBeginsAtWhatIsPossible) {
  EXPECT_EQ(new_faults([](StepSpec& step) { step.search->start = {{{"lr", "0.5"}}}; }), Paths{});
  EXPECT_EQ(new_faults([](StepSpec& step) { step.search->start = {{{"lr", "2"}}, {{"no", "1"}}}; }),
            (Paths{"steps.search.search.start[0].lr", "steps.search.search.start[1].no"}));
  EXPECT_EQ(new_faults([](StepSpec& step) { step.run = Command::shell(" \n"); }),
            Paths{"steps.search.run"});
  EXPECT_EQ(new_faults([](StepSpec& step) {
              step.run = ExternalTrials();
              step.search->budget = Money::micros(1);
            }),
            Paths{"steps.search.search.budget_micros"})
      << "nothing is run, so nothing is spent";
}

TEST(CheckSpec, KeepsAHundredFaults) {
  JobSpec spec = searched();
  spec.steps[2].envs.clear();
  for (int i = 100; i < 300; ++i)
    spec.steps[2].envs.emplace_back("A" + std::to_string(i), "{{no}}");
  EXPECT_EQ(fields_of(spec).size(), kFaultsMax);
}

TEST(CheckSpec, ABestIsKnownWhenItsSearchIsOverThroughStepsBetween) {
  EXPECT_EQ(fields_of(searched()), Paths{});
  JobSpec spec = searched();
  spec.steps[2].depends_on.clear();
  EXPECT_EQ(fields_of(spec), Paths{"steps.use.run"});
  spec = searched();
  spec.steps[1].depends_on.clear();
  EXPECT_EQ(fields_of(spec), Paths{"steps.use.run"}) << "it no longer waits for the search";
  spec = searched();
  spec.steps[2].run =
      Command::shell("{{best.search.rate}} {{best.between.lr}} {{best.nobody.lr}} {{best.search}}");
  EXPECT_EQ(fields_of(spec), Paths(4, "steps.use.run"));
  EXPECT_EQ(check_spec(spec)[0].value, "{{best.search.rate}}");
}

TEST(CheckSpec, ACycleIsToldStepByStep) {
  JobSpec spec = searched();
  spec.steps[0].depends_on = {StepIndex(2)};
  const std::vector<Error> faults = check_spec(spec);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].field, "steps.between.depends_on");
  EXPECT_EQ(faults[0].message, "dependency cycle: search -> use -> between -> search");
}

TEST(CheckSpec, NoValueEndsTheProgram) {
  JobSpec spec = searched();
  StepSpec& step = spec.steps[0];
  step.num_nodes = step.procs_per_node = std::numeric_limits<std::int32_t>::max();
  step.depends_on = {StepIndex(-1), StepIndex(7)};
  step.params.push_back({.name = "n", .kind = Parameter::Kind::kRange, .low = "x", .high = ""});
  step.params.push_back({.name = "n"});
  step.search->method = SearchSpec::Method::kGrid;
  step.search->max_trials = -5;
  step.health.straggler = StragglerPolicy{-1, HealthAction::kRestart};
  for (const Rules rules : {Rules::kStored, Rules::kSubmitted}) {
    EXPECT_GT(check_spec(spec, rules).size(), 8u);
  }
}

}  // namespace
}  // namespace runnel::model
