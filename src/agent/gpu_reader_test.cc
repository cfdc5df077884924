#include "agent/gpu_reader.h"

#include <gtest/gtest.h>

namespace runnel::agent {
namespace {

TEST(GpuReader, AddsUpAProcessOverTheGpus) {
  const auto sample = parse_gpu_table(
      "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   ccpm    "
      "command\n"
      "# Idx           #    C/G      %      %      %      %      %      %     MB     MB    name\n"
      "    0       4711      C     93     41      -      -      -      -  10240      0    python3\n"
      "    1       4711      C      7      -      -      -      -      -    512      0    python3\n"
      "    1         12      G      -      -      -      -      -      -     30      0    Xorg\n");
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(*sample, (GpuSample{{12, {0, Bytes::mebi(30)}}, {4711, {100, Bytes::mebi(10'752)}}}));
}

TEST(GpuReader, FindsTheColumnsOfAnOlderDriver) {
  const auto sample = parse_gpu_table(
      "# gpu        pid  type    sm   mem   enc   dec    fb   command\n"
      "# Idx          #   C/G     %     %     %     %    MB   name\n"
      "    0      14835     C    45    15     0     0  2048   my program\n");
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(*sample, (GpuSample{{14'835, {45, Bytes::gibi(2)}}}));
}

TEST(GpuReader, AnIdleGpuHasNoProcess) {
  const auto sample = parse_gpu_table("# gpu pid type sm mem fb command\n    0 - - - - - -\n");
  ASSERT_TRUE(sample.ok());
  EXPECT_TRUE(sample->empty());
}

TEST(GpuReader, RefusesWhatIsNoTable) {
  for (const char* text : {"", "No devices were found\n", "# gpu pid type\n 0 12 C\n", "#\n"}) {
    EXPECT_FALSE(parse_gpu_table(text).ok()) << text;
  }
}

}  // namespace
}  // namespace runnel::agent
