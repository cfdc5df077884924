#include "spec/run_flags.h"

#include <gtest/gtest.h>

#include "model/template.h"
#include "spec/job_file.h"

namespace runnel::spec {
namespace {

std::string flags_error_of(const RunFlags& flags, const ParseContext& context = {}) {
  const Result<model::JobSpec> job = job_from_flags(flags, context);
  return job.ok() ? "no error" : job.error().to_string();
}

TEST(RunFlags, MakeAJobOfOneStep) {
  RunFlags flags;
  flags.command = {"/usr/bin/python3", "train.py", "--lr", "0.1"};
  ParseContext context;
  context.workdir = "/here";
  context.envs = {{"A", "1"}};
  context.secrets = {{"TOKEN", "env:TOKEN"}};
  const model::JobSpec job = MUST(job_from_flags(flags, context));
  EXPECT_EQ(job.name, "python3");
  EXPECT_EQ(job.workdir, "/here");
  ASSERT_EQ(job.steps.size(), 1u);
  const model::StepSpec& step = job.steps[0];
  EXPECT_EQ(step.command()->argv, flags.command);
  EXPECT_FALSE(step.whole_node);
  EXPECT_EQ(step.resources.milli_cpus, 1'000);
  EXPECT_EQ(step.envs, (decltype(step.envs){{"A", "1"}}));
  EXPECT_EQ(step.secrets.size(), 1u);
  EXPECT_TRUE(step.retry == model::RetryPolicy());
}

TEST(RunFlags, ReadEveryFlag) {
  RunFlags flags;
  flags.command = {"a"};
  flags.cpus = "2";
  flags.memory = "4GB";
  flags.gpus = "H100:8";
  flags.num_nodes = "2";
  flags.procs_per_node = "3";
  flags.max_duration = "2h";
  flags.grace = "5s";
  flags.max_log = "1MiB";
  flags.retries = "4";
  ParseContext context;
  context.name = "mine";
  context.priority = 5;
  const model::JobSpec job = MUST(job_from_flags(flags, context));
  const model::StepSpec& step = job.steps[0];
  EXPECT_EQ(job.name, "mine");
  EXPECT_EQ(job.priority, 5);
  EXPECT_EQ(step.resources.milli_cpus, 2000);
  EXPECT_EQ(step.resources.memory, Bytes::count(4'000'000'000));
  EXPECT_EQ(step.resources.accelerators, (std::map<std::string, std::int64_t>{{"H100", 8}}));
  EXPECT_EQ(step.num_nodes, 2);
  EXPECT_EQ(step.procs_per_node, 3);
  EXPECT_EQ(step.max_duration, Duration::hours(2));
  EXPECT_EQ(step.grace, Duration::seconds(5));
  EXPECT_EQ(step.max_log, Bytes::mebi(1));
  EXPECT_EQ(step.retry.max, 4);
}

TEST(RunFlags, ErrorsNameTheFlag) {
  RunFlags flags;
  EXPECT_EQ(flags_error_of(flags),
            "there is no command to run; write it after two dashes: runnel run -- python train.py");
  flags.command = {"a"};
  flags.memory = "lots";
  EXPECT_EQ(flags_error_of(flags),
            "--memory: 'lots' is not an amount of bytes; write 24GB, 24GiB or 512MB");
  flags.memory.reset();
  flags.max_duration = "90";
  EXPECT_EQ(flags_error_of(flags).substr(0, 56),
            "--max-duration: '90' is not a length of time: it has no ");
  flags.max_duration.reset();
  flags.gpus = "8";
  EXPECT_EQ(flags_error_of(flags),
            "--gpus: '8' does not name a device; write a name and a count, such as H100:8");
  flags.gpus = "0";
  EXPECT_EQ(flags_error_of(flags), "--gpus: '0' does not name a device; leave it out for none");
}

TEST(RunFlags, CapacityIsCheckedToo) {
  RunFlags flags;
  flags.command = {"a"};
  flags.cpus = "9";
  ParseContext context;
  model::NodeInfo node;
  node.id = NodeId("local");
  node.capacity.milli_cpus = 2000;
  node.capacity.memory = Bytes::gibi(1);
  context.nodes = {node};
  EXPECT_EQ(flags_error_of(flags, context).substr(0, 40),
            "--cpus: 9 cpus is more than any node has");
}

TEST(RunFlags, TheCommandIsLiteral) {
  RunFlags flags;
  flags.command = {"docker", "ps", "--format", "{{.Names}} {{x}} {{{", "${HOME}", "", "a\nb"};
  const model::StepSpec step = MUST(job_from_flags(flags, {})).steps[0];
  ASSERT_EQ(step.command()->argv.size(), flags.command.size());
  for (std::size_t i = 0; i < flags.command.size(); ++i) {
    const std::string filled = model::fill_template(
        step.command()->argv[i],
        [](std::string_view) -> std::optional<std::string> { return "WRONG"; });
    EXPECT_EQ(filled, flags.command[i]);
  }
}

// ---- flags over a file

model::JobSpec file_with(const RunFlags& flags, const char* text) {
  ParseContext context;
  context.flags = flags;
  return MUST(parse_job_file(text, context));
}

TEST(FlagsOverAFile, WinInTheJobAndInEachStep) {
  RunFlags flags;
  flags.cpus = "2";
  flags.max_duration = "1m";
  flags.retries = "0";
  const model::JobSpec job =
      file_with(flags,
                "resources: {cpus: 8, memory: 1GB}\n"
                "max_duration: 9h\n"
                "retry: {max: 5, on_exit_codes: 3}\n"
                "steps:\n"
                "  a: {run: x}\n"
                "  b: {run: y, resources: {memory: 2GB}, max_duration: 3h}\n");
  for (const model::StepSpec& step : job.steps) {
    EXPECT_EQ(step.resources.milli_cpus, 2000) << step.name;
    EXPECT_EQ(step.max_duration, Duration::seconds(60)) << step.name;
    EXPECT_EQ(step.retry.max, 0) << step.name;
    EXPECT_EQ(step.retry.on_exit_codes, std::vector<std::int32_t>{3}) << step.name;
  }
  EXPECT_EQ(job.steps[0].resources.memory, Bytes::count(1'000'000'000));
  EXPECT_EQ(job.steps[1].resources.memory, Bytes::count(2'000'000'000));
}

TEST(FlagsOverAFile, AddWhatItLeavesOut) {
  RunFlags flags;
  flags.num_nodes = "2";
  flags.gpus = "H100:1";
  const model::JobSpec job = file_with(flags, "run: x\n");
  EXPECT_EQ(job.steps[0].num_nodes, 2);
  EXPECT_EQ(job.steps[0].resources.accelerators.at("H100"), 1);
}

TEST(FlagsOverAFile, ErrorsNameTheFlag) {
  ParseContext context;
  context.flags.max_duration = "90";
  const Error error = parse_job_file("run: x\nmax_duration: 1h\n", context).error();
  EXPECT_NE(error.to_string().find("--max-duration"), std::string::npos) << error.to_string();
}

}  // namespace
}  // namespace runnel::spec
