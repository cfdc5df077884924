#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "async/unique_fd.h"
#include "base/result.h"
#include "base/units.h"

namespace runnel::runner {

// How a memory limit is kept on this machine.
enum class MemoryWay : std::uint8_t { kGroupV1, kGroupV2, kWatch };
// "by its cgroup (v1)": for messages to people.
std::string_view describe(MemoryWay way);

// A cgroup with a memory limit, lent to one place of an attempt.
struct MemoryGroup {
  std::string path;
  async::UniqueFd processes;  // cgroup.procs: writing "0" enters.
  Bytes limit;
  std::int64_t kills_before = 0;  // The kernel's count of kills when it was lent.
};

// Leaves the group of a task in which this process was started, for the one around it: what serves
// others, too, is not to count for that task. Nothing where it is in none, or may not.
void leave_memory_group();

// Lends memory cgroups where one can be made, and says so where not: then the caller watches.
//
// Contract: probes once, at the first use. A group that comes back empty is lent again: dying
//           groups cost the kernel memory for long. Groups carry the home's token, so that those of
//           a dead runner are found and removed (remove_left()).
// Threads:  the runner's only.
class MemoryGroups {
 public:
  // `token` is a path part, the same for each runner of this home.
  explicit MemoryGroups(std::string token) : token_(std::move(token)) {}
  ~MemoryGroups();
  MemoryGroups(const MemoryGroups&) = delete;
  MemoryGroups& operator=(const MemoryGroups&) = delete;

  MemoryWay way();
  // Only with way() != kWatch. An error means: watch this one.
  Result<MemoryGroup> take(Bytes limit);
  // The kernel has killed processes of this group since it was lent.
  bool over_limit(const MemoryGroup& group) const;
  void give_back(MemoryGroup group);
  // Groups of dead runners of this home; their processes are gone already.
  void remove_left();

 private:
  void probe();
  bool probe_v1();
  bool probe_v2();
  Result<MemoryGroup> make();
  Result<void> set_limit(const MemoryGroup& group, Bytes limit) const;
  std::int64_t kills(const MemoryGroup& group) const;

  std::string token_;
  bool probed_ = false;
  MemoryWay way_ = MemoryWay::kWatch;
  std::string parent_;
  std::vector<MemoryGroup> free_;
  std::int64_t made_ = 0;
};

}  // namespace runnel::runner
