#include "spec/job_file.h"

#include <gtest/gtest.h>

namespace runnel::spec {
namespace {

ParseContext context() {
  ParseContext context;
  context.workdir = "/project";
  return context;
}

model::JobSpec parse(std::string_view text, const ParseContext& with = context()) {
  return MUST(parse_job_file(text, with));
}

std::string error_of(std::string_view text, const ParseContext& with = context()) {
  const Result<model::JobSpec> job = parse_job_file(text, with);
  return job.ok() ? "no error" : job.error().to_string();
}

std::string value_of(const model::StepSpec& step, const std::string& name) {
  for (const auto& [key, value] : step.envs) {
    if (key == name) return value;
  }
  return "none";
}

TEST(JobFile, IsCalledAfterItsFile) {
  ParseContext with = context();
  with.file = "jobs/train it.yaml";
  EXPECT_EQ(parse("run: a", with).name, "train-it");
  with.file = "-";
  EXPECT_EQ(parse("run: a", with).name, "main");
  EXPECT_EQ(parse("{run: a, name: b}", with).steps[0].name, "b");
  EXPECT_EQ(parse("{run: a, name: b.c}", with).steps[0].name, "main");
  with.name = "given";
  with.priority = -3;
  EXPECT_EQ(parse("{run: a, name: b, priority: 9}", with).name, "given");
  EXPECT_EQ(parse("{run: a, name: b, priority: 9}", with).priority, -3);
  with.name = "no good";
  EXPECT_EQ(error_of("run: a", with).substr(0, 40), "--name: 'no good' cannot be a name; use ");
}

TEST(JobFile, WorkdirIsAbsolute) {
  EXPECT_EQ(parse("run: a").workdir, "/project");
  EXPECT_EQ(parse("{run: a, workdir: .}").workdir, "/project");
  EXPECT_EQ(parse("{run: a, workdir: ../x/./y/}").workdir, "/x/y");
  EXPECT_EQ(parse("{run: a, workdir: /a/../..}").workdir, "/");
  EXPECT_EQ(parse("{run: a, workdir: 'w-${V}', envs: {V: 7}}").workdir, "/project/w-7");
  EXPECT_NE(error_of("{run: a, workdir: ~/x}"), "no error");
}

TEST(JobFile, CpusDefaultToOneForEachProcess) {
  EXPECT_EQ(parse("{run: a, resources: {cpus: 2}}").steps[0].resources.milli_cpus, 2000);
  for (const char* text : {"run: a", "{run: a, resources: {memory: 1GB}}", "{run: a, samples: 2}",
                           "{run: a, num_nodes: 2}", "steps: {a: {run: a}, b: {run: b}}"}) {
    EXPECT_FALSE(parse(text).steps[0].whole_node) << text;
    EXPECT_EQ(parse(text).steps[0].resources.milli_cpus, 1000) << text;
  }
  EXPECT_EQ(parse("{run: a, num_nodes: 2, procs_per_node: 4}").steps[0].resources.milli_cpus, 4000);
}

TEST(JobFile, CountsTasks) {
  EXPECT_EQ(parse("run: a").steps[0].task_count, 1);
  EXPECT_EQ(parse("{run: a, params: {x: [1, 2, 3], y: {range: [0, 3]}}}").steps[0].task_count, 12);
  EXPECT_EQ(parse("{run: a, params: {x: [1, 2]}, foreach: [a, b, c]}").steps[0].task_count, 6);
  EXPECT_EQ(parse("{run: a, params: {x: {uniform: [0, 1]}}, samples: 9}").steps[0].task_count, 9);
  EXPECT_EQ(parse("{run: a, params: {x: {range: [1, 100000000]}}}").steps[0].task_count,
            100'000'000);
  EXPECT_EQ(
      parse("{run: a, params: {x: {range: [1, 1000000000000]}}, samples: 5}").steps[0].task_count,
      5);
}

TEST(JobFile, AVolumeIsReadUnlessItSaysThatItIsWritten) {
  const auto use = [](const std::string& text) {
    return parse("{run: a, volumes: {out: " + text + "}}").steps[0].volumes.at(0);
  };
  EXPECT_EQ(use("results").version, "latest");
  EXPECT_FALSE(use("results").is_written());
  EXPECT_EQ(use("results@v1").version, "v1");
  EXPECT_EQ(use("{volume: results, version: v1, mode: ro}").version, "v1");
  EXPECT_FALSE(use("{volume: results, mode: ro}").is_written());
  EXPECT_TRUE(use("{volume: results, mode: rw}").is_written());
  EXPECT_EQ(use("{volume: results, mode: rw}").version, "") << "the newest one of its beginning";
  EXPECT_EQ(use("{volume: results, mode: rw, store: 's3://b/p'}").store, "s3://b/p");
}

TEST(JobFile, TopFieldsAreDefaultsOfSteps) {
  const model::JobSpec job = parse(R"(
envs: {A: 1, B: 2}
secrets: [S]
resources: {cpus: 2, memory: 1GB}
num_nodes: 2
grace: 5s
steps:
  own:
    {run: a, envs: {B: 3, C: 4}, secrets: {T: env:U}, resources: {cpus: 1}, num_nodes: 1, grace: 6s}
  default: {run: b}
)");
  const model::StepSpec& own = job.steps[0];
  const model::StepSpec& plain = job.steps[1];
  EXPECT_EQ(own.envs, (decltype(own.envs){{"A", "1"}, {"B", "3"}, {"C", "4"}}));
  EXPECT_EQ(plain.envs, (decltype(own.envs){{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(own.secrets.size(), 2u);
  EXPECT_EQ(plain.secrets.size(), 1u);
  EXPECT_EQ(own.resources.milli_cpus, 1000);
  EXPECT_TRUE(own.resources.memory.is_zero()) << "a step's own resources replace the default whole";
  EXPECT_EQ(plain.resources.milli_cpus, 2000);
  EXPECT_EQ(own.num_nodes, 1);
  EXPECT_EQ(plain.num_nodes, 2);
  EXPECT_EQ(own.grace, Duration::seconds(6));
  EXPECT_EQ(plain.grace, Duration::seconds(5));
}

TEST(JobFile, VariablesOfOneStepStayThere) {
  EXPECT_EQ(
      error_of("steps:\n  a: {run: a, envs: {V: 1}}\n  b: {run: b, checkpoint: {dir: '${V}'}}\n")
          .substr(0, 60),
      "job.yaml:3:34: steps.b.checkpoint.dir: '${V}' is not declare");
}

TEST(JobFile, GivenVariablesWinAndAreLiteral) {
  ParseContext with = context();
  with.envs = {{"DATA", "/d/{{x}}"}, {"EXTRA", "1"}};
  const model::StepSpec step =
      parse("{run: a, envs: {DATA: '', E: '{{task.index}}'}}", with).steps[0];
  EXPECT_EQ(value_of(step, "DATA"), "/d/{{{{x}}");
  EXPECT_EQ(value_of(step, "EXTRA"), "1");
  EXPECT_EQ(value_of(step, "E"), "{{task.index}}");
  EXPECT_EQ(parse("{run: a, workdir: '${EXTRA}'}", with).workdir, "/project/1");
  EXPECT_NE(error_of("{run: a, envs: {DATA: ''}}"), "no error");
  with.envs = {{"RUNNEL_JOB_ID", "1"}};
  EXPECT_EQ(error_of("run: a", with).substr(0, 52),
            "-e: 'RUNNEL_JOB_ID' cannot be given as a variable; u");
}

TEST(JobFile, AMissingVariableIsReportedOnce) {
  const JobFileReport report = parse_job_file_all(
      "envs: {D: ''}\nsteps: {a: {run: a}, b: {run: b}, c: {run: c}}\n", context());
  EXPECT_EQ(report.errors.size(), 1u);
}

TEST(JobFile, SecretsAreReferences) {
  ParseContext with = context();
  with.secrets = {{"GIVEN", "env:GIVEN"}};
  const model::StepSpec step = parse("{run: a, secrets: [TOKEN]}", with).steps[0];
  EXPECT_EQ(step.secrets,
            (std::vector<model::SecretRef>{{"GIVEN", "env:GIVEN"}, {"TOKEN", "env:TOKEN"}}));
  EXPECT_NE(error_of("{run: a, secrets: [A], envs: {A: 1}}"), "no error");
  EXPECT_NE(error_of("{run: a, envs: {GIVEN: 1}}", with), "no error");
  const std::string error = error_of("{run: a, secrets: {A: hunter2}}");
  EXPECT_EQ(error.find("hunter2"), std::string::npos) << "an error must not show a secret";
}

TEST(JobFile, TemplatesAreCheckedWhereTheyAreFilled) {
  EXPECT_EQ(error_of("{run: 'a {{ x }}', params: {x: 1}}"), "no error");
  EXPECT_EQ(error_of("{command: [a, '{{x}}'], params: {x: 1}}"), "no error");
  EXPECT_NE(error_of("{command: [a, '{{y}}'], params: {x: 1}}"), "no error");
  EXPECT_NE(error_of("{run: a, envs: {A: '{{y}}'}}"), "no error");
  EXPECT_NE(error_of("{run: a, checkpoint: {dir: '{{y}}'}}"), "no error");
  EXPECT_EQ(error_of("{run: a, checkpoint: {dir: 'c-{{job.id}}'}}"), "no error");
  EXPECT_EQ(error_of("{run: 'echo {{item}}'}").substr(0, 21), "job.yaml:1:13: run: '");
}

TEST(JobFile, ARefusedParameterIsNotUnknownAsWell) {
  const JobFileReport report = parse_job_file_all("{run: 'a {{x}}', params: {x: []}}", context());
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_EQ(report.errors[0].field, "params.x");
}

TEST(JobFile, SmallFilesCannotMakeHugeJobs) {
  std::string text = "envs: {A: " + std::string(1 << 20, 'x') + "}\nsteps:\n";
  for (int i = 0; i < 100; ++i) text += "  s" + std::to_string(i) + ": {run: a}\n";
  EXPECT_NE(error_of(text).find("hold more than 16MiB of text"), std::string::npos);
}

TEST(JobFile, StopsCountingAtAHundredErrors) {
  std::string text = "steps:\n";
  for (int i = 0; i < 900; ++i) text += "  s" + std::to_string(i) + ": {rum: a, num_nodes: x}\n";
  EXPECT_EQ(parse_job_file_all(text, context()).errors.size(), 100u);
}

TEST(JobFile, AThousandStepsInARowAreFine) {
  std::string text = "steps:\n  s0: {run: a}\n";
  for (int i = 1; i < 1000; ++i) {
    text += "  s" + std::to_string(i) + ": {run: a, needs: s" + std::to_string(i - 1) + "}\n";
  }
  EXPECT_EQ(parse(text).steps.size(), 1000u);
  EXPECT_NE(error_of(text + "  more: {run: a}\n"), "no error");
}

TEST(JobFile, EveryCircleIsNamed) {
  const JobFileReport report = parse_job_file_all(
      "steps:\n  a: {run: a, needs: b}\n  b: {run: b, needs: a}\n  c: {run: c, needs: [a, d]}\n"
      "  d: {run: d, needs: c}\n",
      context());
  ASSERT_EQ(report.errors.size(), 2u);
  EXPECT_NE(report.errors[0].message.find("a -> b -> a"), std::string::npos);
  EXPECT_NE(report.errors[1].message.find("c -> d -> c"), std::string::npos);
}

TEST(JobFile, CapacityKnowsGangsAndSharedNodes) {
  ParseContext with = context();
  model::NodeInfo node;
  node.id = NodeId("one");
  node.capacity.milli_cpus = 4000;
  node.capacity.memory = Bytes::gibi(8);
  with.nodes = {node};
  EXPECT_EQ(error_of("{run: a, num_nodes: 1, resources: {cpus: 4}}", with), "no error");
  EXPECT_NE(error_of("{run: a, num_nodes: 2, resources: {cpus: 1}}", with), "no error");
  with.nodes[0].colocate = true;
  EXPECT_EQ(error_of("{run: a, num_nodes: 4, resources: {cpus: 1}}", with), "no error");
  EXPECT_NE(error_of("{run: a, num_nodes: 5, resources: {cpus: 1}}", with), "no error");
  EXPECT_EQ(error_of("{run: a, samples: 1000, resources: {cpus: 4}}", with), "no error")
      << "tasks may wait for each other";
  EXPECT_NE(error_of("{run: a, resources: {memory: 9GiB}}", with), "no error");
  node.id = NodeId("two");
  node.capacity.milli_cpus = 1000;
  node.capacity.memory = Bytes::gibi(16);
  with.nodes.push_back(node);
  EXPECT_NE(error_of("{run: a, resources: {memory: 16GiB, cpus: 4}}", with).find("at once"),
            std::string::npos);
}

TEST(JobFile, SpotNodesThatWouldHoldItAreNamedAsTheRemedy) {
  ParseContext with = context();
  model::NodeInfo node;
  node.id = NodeId("box");
  node.capacity.milli_cpus = 1000;
  node.capacity.memory = Bytes::gibi(8);
  with.nodes = {node};
  node.capacity.milli_cpus = 4000;
  node.capacity.accelerators = {{"H100", 1}};
  node.spot = true;
  for (const char* name : {"s1", "s2"}) {
    node.id = NodeId(name);
    with.nodes.push_back(node);
  }
  for (const char* text : {"{run: a, resources: {cpus: 4}}", "{run: a, num_nodes: 3}",
                           "{run: a, resources: {accelerators: H100:1}}"}) {
    const std::string error = error_of(text, with);
    EXPECT_NE(error.find("only with spot nodes"), std::string::npos) << error;
    EXPECT_NE(error.find("--spot"), std::string::npos) << error;
  }
  EXPECT_EQ(error_of("{run: a, resources: {cpus: 4, spot: true}}", with), "no error");
  EXPECT_NE(error_of("{run: a, resources: {cpus: 5}}", with)
                .find("the largest, 's1', has 4; ask for 4 or less, with spot: true or --spot "
                      "since that may be taken away, or"),
            std::string::npos)
      << "also with them there is no room";
  EXPECT_EQ(error_of("{run: a, resources: {cpus: 5, spot: true}}", with).find("with spot"),
            std::string::npos);
  node.id = NodeId("lasting");
  node.spot = false;
  with.nodes.push_back(node);
  EXPECT_NE(error_of("{run: a, resources: {cpus: 5}}", with)
                .find("'lasting', has 4; ask for 4 or less, or declare"),
            std::string::npos)
      << "of equals the one that it may use";
  with.nodes.pop_back();
  const std::string error = error_of("{run: a, num_nodes: 4}", with);
  EXPECT_NE(error.find("the nodes hold 1, spot nodes not counted"), std::string::npos) << error;
  with.flags.spot = true;
  EXPECT_EQ(error_of("{run: a, num_nodes: 3}", with), "no error");
}

TEST(JobFile, UnknownDevicesAreNamedAsTheCause) {
  ParseContext with = context();
  with.nodes.resize(1);
  with.nodes.front().capacity.milli_cpus = 1'000;
  with.nodes.front().capacity.memory = Bytes::gibi(1);
  const std::string job = "{run: a, resources: {cpus: 1, accelerators: H100}}";
  EXPECT_EQ(error_of(job, with),
            "job.yaml:1:45: resources.accelerators: no node has the device 'H100'; declare a node "
            "that has it in nodes.yaml");
  with.devices_unknown = "the driver hangs; see dmesg";
  EXPECT_EQ(
      error_of(job, with),
      "job.yaml:1:45: resources.accelerators: no node has the device 'H100', as those of this "
      "machine are not known: the driver hangs; see dmesg; declare a node that has it in "
      "nodes.yaml");
}

TEST(JobFile, KnowsWhatIsOnlyNotBuiltYet) {
  const auto code = [](std::string_view text) {
    const Result<model::JobSpec> job = parse_job_file(text, context());
    return job.ok() ? Errc::kInternal : job.error().code;
  };
  for (const char* text : {"{run: a, ranks: 2}", "{run: a, image: a}", "{run: a, image: x}",
                           "{run: a, setup: x}", "{run: a, queue: x}", "{run: a, project: x}",
                           "{run: a, any_of: []}", "{run: a, max_price: 1}",
                           "{run: a, elastic: {}}", "{run: a, warn: x}", "{run: a, compat: slurm}",
                           "{run: a, file_mounts: {}}", "{run: a, checkpoint: {keep_latest: 2}}",
                           "{framework: {}, name: a}", "{run: a, num_nodes: 4+}"}) {
    EXPECT_EQ(code(text), Errc::kUnsupported) << text;
  }
  EXPECT_EQ(code("{run: a, rankz: 2}"), Errc::kInvalid);
}

}  // namespace
}  // namespace runnel::spec
