#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "volume_sim/work.h"
#include "volume_sim/world.h"

namespace runnel::volume_sim {
namespace {

using Work = Async<void> (*)(Process&, Oracle&);

constexpr std::uint64_t kSeeds = 8;  // Of each work: what it does is drawn, too.

// A volume with several versions, one of them tagged, garbage, and packs that are half dead.
void fill(World& world) {
  world.make_volume();
  for (const Work work :
       {put_files, put_files, put_files, rearrange, tag_version, put_files, remove_files}) {
    world.run_alone([&](Process& process) { return work(process, world.oracle()); });
  }
}

// Whether it was killed after that many of its changes, and had not ended before.
bool is_killed_after(std::int64_t changes, World& world, Work work) {
  const std::unique_ptr<Process> process = world.new_process();
  process->start(work(*process, world.oracle()));
  while (!process->has_ended() && world.changes_by(*process) < changes) world.agenda().step();
  if (process->has_ended()) return false;
  world.kill(*process);
  return true;
}

// How many steps it has.
std::int64_t kill_after_each_change(Work work, std::uint64_t seed) {
  for (std::int64_t changes = 0;; ++changes) {
    SplitMix64 dice(seed);
    World world(dice, false);
    fill(world);
    const bool is_killed = is_killed_after(changes, world, work);
    world.settle();
    EXPECT_EQ(world.violation(), "") << "seed " << seed << ", killed after " << changes;
    if (!is_killed || !world.violation().empty()) return changes;
  }
}

void kill_at_each_step(Work work, std::int64_t steps_min) {
  std::int64_t most = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    most = std::max(most, kill_after_each_change(work, seed));
  }
  EXPECT_GE(most, steps_min);
}

TEST(KilledAtEachStep, APutLeavesNothingBehind) { kill_at_each_step(put_files, 5); }
TEST(KilledAtEachStep, ARemovalLeavesNothingBehind) { kill_at_each_step(remove_files, 4); }
TEST(KilledAtEachStep, ARearrangementLeavesNothingBehind) { kill_at_each_step(rearrange, 4); }
TEST(KilledAtEachStep, ATagLeavesNothingBehind) { kill_at_each_step(tag_version, 1); }
TEST(KilledAtEachStep, AReaderLeavesNothingBehind) { kill_at_each_step(read_version, 2); }
TEST(KilledAtEachStep, AGcLeavesNothingBehind) { kill_at_each_step(collect, 8); }

}  // namespace
}  // namespace runnel::volume_sim
