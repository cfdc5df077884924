#include "runner/memory_limit.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runner/process_tree.h"

namespace runnel::runner {
namespace {

bool is_in_a_group() {
  return read_small_file("/proc/self/cgroup").find("/runnel-") != std::string::npos;
}

// In a process of its own. 0: all was well.
int leave(const MemoryGroup& group) {
  if (::write(group.processes.get(), "0", 1) != 1 || !is_in_a_group()) return 1;
  leave_memory_group();
  return is_in_a_group() ? 2 : 0;
}

TEST(MemoryLimit, WhatServesOthersLeavesTheGroupOfItsTask) {
  MemoryGroups groups("test-of-leaving");
  if (groups.way() == MemoryWay::kWatch) GTEST_SKIP() << "no memory cgroup can be made here";
  MemoryGroup group = MUST(groups.take(Bytes::mebi(256)));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(leave(group));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "1: it was not in the group, 2: it is still";
  groups.give_back(std::move(group));
}

TEST(MemoryLimit, WhoIsInNoneStaysWhereHeIs) {
  const std::string before = read_small_file("/proc/self/cgroup");
  leave_memory_group();
  EXPECT_EQ(read_small_file("/proc/self/cgroup"), before);
}

}  // namespace
}  // namespace runnel::runner
