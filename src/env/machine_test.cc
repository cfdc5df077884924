#include "env/machine.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

// A machine made of files.
class Machine : public ::testing::Test {
 protected:
  Machine() {
    write("proc/meminfo", "MemFree: 1 kB\nMemTotal:       16777216 kB\n");
    write("proc/self/cgroup", "0::/user/session\n");
  }

  void write(const std::string& name, const std::string& text) {
    MUST(make_directories(parent_of(root_.file(name))));
    MUST(write_file_atomically(root_.file(name), text));
  }
  MachineCapacity capacity() const { return MUST(machine_capacity(root_.path())); }

  testing::TemporaryDirectory root_;
};

TEST_F(Machine, WithoutLimitsIsTheHardware) {
  EXPECT_EQ(capacity().memory, Bytes::gibi(16));
  EXPECT_GE(capacity().milli_cpus, 1000);
  EXPECT_EQ(capacity().milli_cpus % 1000, 0);
}

TEST_F(Machine, IsCutByTheTightestGroupAbove) {
  write("sys/fs/cgroup/user/session/memory.max", "max\n");
  write("sys/fs/cgroup/user/session/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/user/memory.max", "1073741824\n");
  write("sys/fs/cgroup/user/cpu.max", "50000 100000\n");
  EXPECT_EQ(capacity().memory, Bytes::gibi(1));
  EXPECT_EQ(capacity().milli_cpus, 500);
}

TEST_F(Machine, ReadsTheLimitsOfAContainersTop) {
  write("proc/self/cgroup", "0::/../../elsewhere\n");
  write("sys/fs/cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(capacity().memory, Bytes::gibi(2));
}

TEST_F(Machine, ReadsVersionOne) {
  write("proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "536870912\n");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "25000\n");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(capacity().memory, Bytes::mebi(512));
  EXPECT_EQ(capacity().milli_cpus, 250);
}

TEST_F(Machine, UnlimitedVersionOneHasNoEffect) {
  write("proc/self/cgroup", "4:memory:/\n1:cpu:/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(capacity().memory, Bytes::gibi(16));
  EXPECT_GE(capacity().milli_cpus, 1000);
}

TEST_F(Machine, WithoutMeminfoIsUnsupported) {
  write("proc/meminfo", "MemFree: 1 kB\n");
  EXPECT_EQ(machine_capacity(root_.path()).error().code, Errc::kUnsupported);
  write("proc/meminfo", "MemTotal:");
  EXPECT_EQ(machine_capacity(root_.path()).error().code, Errc::kUnsupported);
}

TEST(RealMachine, IsKnown) {
  const MachineCapacity capacity = MUST(machine_capacity());
  EXPECT_GT(capacity.milli_cpus, 0);
  EXPECT_GT(capacity.memory, Bytes::mebi(64));
  EXPECT_EQ(MUST(boot_id()).size(), 36U);
  EXPECT_EQ(MUST(boot_id()), MUST(boot_id()));
  EXPECT_FALSE(MUST(hostname()).empty());
}

}  // namespace
}  // namespace runnel::env
