#include "volume/stat.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "env/clock.h"
#include "object/memory/memory_store.h"
#include "volume/fetch_plan.h"
#include "volume/tag.h"

namespace runnel::volume {
namespace {

TEST(StatTest, CountsWhatIsThere) {
  const auto loop = MUST(async::EventLoop::create());
  object::MemoryStore store;
  Volume volume = MUST(
      loop->block_on(Volume::create({store, env::real_clock(), env::real_random(), {}}, "data")));
  VolumeStat empty = MUST(loop->block_on(stat_volume(volume, {})));
  EXPECT_EQ(empty.objects, 1);
  EXPECT_EQ(empty.versions, 0);
  Edit root = Edit::folder();
  root.entries["file"].node.size = 100;
  const Manifest made = MUST(loop->block_on(volume.publish(root, {}, 0, "")));
  MUST(loop->block_on(set_tag(volume, "latest", "best", false)));
  store.objects()["data/p/one"] = {std::string(1'000, 'x'), "1"};
  store.objects()["data/p/two"] = {std::string(kFetchBytesMax + 1, 'x'), "2"};
  store.objects()["data/s/one"] = {"{}", "3"};
  store.objects()["database/head"] = {"another volume's", "4"};
  const VolumeStat stat = MUST(loop->block_on(stat_volume(volume, {})));
  EXPECT_EQ(stat.newest, made.totals);
  EXPECT_EQ(stat.versions, 1);
  EXPECT_EQ(stat.packs, 2);
  EXPECT_EQ(stat.pack_bytes, static_cast<std::int64_t>(kFetchBytesMax) + 1'001);
  EXPECT_EQ(stat.reads, 3) << "a pack of over 8 MiB is read by two requests";
  EXPECT_EQ(stat.sessions, 1);
  EXPECT_EQ(stat.objects, 6) << "head, manifest, pages, two packs, a session";
}

TEST(StatTest, ATerabyteCosts23DollarsAMonth) {
  VolumeStat stat;
  stat.stored_bytes = 1'000'000'000'000;
  stat.objects = 32'000;
  stat.reads = 131'000;
  const StorePrice price = store_price(stat);
  EXPECT_NEAR(price.month, 23, 0.001);
  EXPECT_NEAR(price.put_once, 0.16, 0.001);
  EXPECT_NEAR(price.read_once, 0.0524, 0.0001);
}

}  // namespace
}  // namespace runnel::volume
