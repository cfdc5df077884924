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

constexpr std::uint64_t kSeeds = 8;  // Of each work: what it does is drawn, too.

// A volume with several versions, one of them tagged, garbage, and packs that are half dead.
void fill(World& world) {
  world.make_volume();
  for (const Work work :
       {put_files, put_files, put_files, rearrange, tag_version, put_files, remove_files}) {
    world.run_alone([&](Process& process) { return work(process, world.oracle()); });
  }
}

// What a process does once a world is filled, and to which of its volumes.
struct Killed {
  Work work;
  std::string volume = "data";
  Work before = nullptr;  // Done to the volume first.
};

// Whether it was killed after that many of its changes, and had not ended before.
bool is_killed_after(std::int64_t changes, World& world, const Killed& killed) {
  const std::unique_ptr<Process> process = world.new_process_of(killed.volume);
  process->start(killed.work(*process, world.oracle()));
  while (!process->has_ended() && world.changes_by(*process) < changes) world.agenda().step();
  if (process->has_ended()) return false;
  world.kill(*process);
  return true;
}

// How many steps it has.
std::int64_t kill_after_each_change(const Killed& killed, std::uint64_t seed) {
  for (std::int64_t changes = 0;; ++changes) {
    SplitMix64 dice(seed);
    World world(dice, false);
    if (killed.volume != "data") world.set_volumes({"data", killed.volume});
    fill(world);
    if (killed.before != nullptr) {
      world.run_alone_on(killed.volume,
                         [&](Process& process) { return killed.before(process, world.oracle()); });
    }
    const bool is_killed = is_killed_after(changes, world, killed);
    world.settle();
    EXPECT_EQ(world.violation(), "") << "seed " << seed << ", killed after " << changes;
    if (!is_killed || !world.violation().empty()) return changes;
  }
}

void kill_at_each_step(const Killed& killed, std::int64_t steps_min) {
  std::int64_t most = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    most = std::max(most, kill_after_each_change(killed, seed));
  }
  EXPECT_GE(most, steps_min);
}

TEST(KilledAtEachStep, APutLeavesNothingBehind) { kill_at_each_step({put_files}, 5); }
TEST(KilledAtEachStep, ARemovalLeavesNothingBehind) { kill_at_each_step({remove_files}, 4); }
TEST(KilledAtEachStep, ARearrangementLeavesNothingBehind) { kill_at_each_step({rearrange}, 4); }
TEST(KilledAtEachStep, ATagLeavesNothingBehind) { kill_at_each_step({tag_version}, 1); }
TEST(KilledAtEachStep, AReaderLeavesNothingBehind) { kill_at_each_step({read_version}, 2); }
TEST(KilledAtEachStep, ACreationLeavesNothingBehind) {
  kill_at_each_step({create_volume, "one"}, 4);
}
TEST(KilledAtEachStep, ACloneLeavesNothingBehind) { kill_at_each_step({clone_another, "one"}, 5); }
TEST(KilledAtEachStep, ADeletionLeavesNothingBehind) { kill_at_each_step({delete_whole}, 10); }
TEST(KilledAtEachStep, ADeletionOfACloneLeavesNothingBehind) {
  kill_at_each_step({delete_whole, "one", clone_another}, 8);
}
TEST(KilledAtEachStep, AGcLeavesNothingBehind) { kill_at_each_step({collect}, 8); }

}  // namespace
}  // namespace runnel::volume_sim
