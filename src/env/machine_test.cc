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
  EXPECT_GT(MUST(pid_namespace()), 0);
}

TEST_F(Machine, ReadsLimitsThroughEveryGroupOnTheWayUp) {
  write("proc/self/cgroup", "0::/a/b/c/d\n");
  write("sys/fs/cgroup/a/b/c/d/cpu.max", "400000 100000\n");
  write("sys/fs/cgroup/a/b/c/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/a/memory.max", "3221225472\n");
  write("sys/fs/cgroup/a/b/memory.max", "4294967296\n");
  EXPECT_LE(capacity().milli_cpus, 1500);
  EXPECT_EQ(capacity().memory, Bytes::gibi(3));
}

TEST_F(Machine, ATinyQuotaIsStillSomething) {
  write("sys/fs/cgroup/user/session/cpu.max", "1 100000\n");
  EXPECT_EQ(capacity().milli_cpus, 1);
}

TEST_F(Machine, IgnoresWhatItCannotRead) {
  for (const char* text :
       {"", "nonsense\n", "0\n", "max\n", "-5 100000\n", "100000 0\n", "100000 x\n"}) {
    write("sys/fs/cgroup/user/session/cpu.max", text);
    EXPECT_GE(capacity().milli_cpus, 1000) << text;
  }
  for (const char* text : {"", "nonsense\n", "max\n"}) {
    write("sys/fs/cgroup/user/session/memory.max", text);
    EXPECT_EQ(capacity().memory, Bytes::gibi(16)) << text;
  }
  for (const char* text : {"", "nonsense\n", "0:x\n", "::\n", ":::\n"}) {
    write("proc/self/cgroup", text);
    EXPECT_EQ(capacity().memory, Bytes::gibi(16)) << text;
  }
}

TEST_F(Machine, WithoutAnyGroupFileIsTheHardware) {
  MUST(remove_file(root_.file("proc/self/cgroup")));
  EXPECT_EQ(capacity().memory, Bytes::gibi(16));
}

TEST_F(Machine, MemoryOfAnotherProgramsGroupDoesNotCount) {
  write("proc/self/cgroup", "4:memory:/ours\n5:devices:/theirs\n");
  write("sys/fs/cgroup/devices/theirs/memory.limit_in_bytes", "1\n");
  write("sys/fs/cgroup/memory/theirs/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(capacity().memory, Bytes::gibi(16));
}

}  // namespace
}  // namespace runnel::env
