#include "spec/foreign.h"

#include <gtest/gtest.h>

namespace runnel::spec {
namespace {

std::string kind_of(std::string_view text) {
  const YamlNodePtr root = MUST(read_yaml(text, "f"));
  const std::optional<ForeignFile> foreign = recognise_foreign(*root);
  return foreign ? std::string(foreign->what) : "ours";
}

TEST(Foreign, FilesAreToldByWhatOnlyTheyWrite) {
  EXPECT_EQ(kind_of("{name: a, framework: {}}"), "an FfDL manifest");
  EXPECT_EQ(kind_of("{name: a, learners: 2}"), "an FfDL manifest");
  EXPECT_EQ(kind_of("{name: a, data_stores: []}"), "an FfDL manifest");
  EXPECT_EQ(kind_of("{resources: {use_spot: true}, run: a}"), "a SkyPilot task");
  EXPECT_EQ(kind_of("{resources: {cloud: aws}, run: a}"), "a SkyPilot task");
  EXPECT_EQ(kind_of("{type: task, commands: []}"), "a dstack configuration");
  EXPECT_EQ(kind_of("{type: fleet}"), "a dstack configuration");
  EXPECT_EQ(kind_of("{name: a, searcher: {}}"), "a Determined configuration");
  EXPECT_EQ(kind_of("{apiVersion: v1, kind: Pod, metadata: {}}"), "a Kubernetes object");
  EXPECT_EQ(kind_of("{apiVersion: kubeflow.org/v1, kind: TrainJob, spec: {}}"),
            "a Kubernetes object");
  EXPECT_EQ(kind_of("services: {}"), "a Compose file");
}

TEST(Foreign, OurFilesAreOurs) {
  for (const char* text : {"run: a", "{apiVersion: runnel/v1, kind: Job, run: a}", "{type: other}",
                           "{type: [task]}", "{resources: {cpus: 1}}", "experiments: {}",
                           "{resources: [cloud]}", "[experiments]", "experiments"}) {
    EXPECT_EQ(kind_of(text), "ours") << text;
  }
}

TEST(Foreign, PointsAtTheKey) {
  const YamlNodePtr root = MUST(read_yaml("name: a\nframework: {}\n", "f"));
  const std::optional<ForeignFile> foreign = recognise_foreign(*root);
  ASSERT_TRUE(foreign.has_value());
  EXPECT_EQ(foreign->at->offset, 8u);
}

TEST(Foreign, BatchScripts) {
  EXPECT_EQ(sbatch_line("#!/bin/sh\n#SBATCH -n 1\n"), 10u);
  EXPECT_EQ(sbatch_line("#SBATCH -n 1\n"), 0u);
  EXPECT_FALSE(sbatch_line("#!/bin/sh\necho\n").has_value());
  EXPECT_FALSE(sbatch_line("run: |\n  #SBATCH is only text here\n").has_value());
  EXPECT_FALSE(sbatch_line("").has_value());
}

}  // namespace
}  // namespace runnel::spec
