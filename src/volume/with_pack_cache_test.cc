#include "volume/with_pack_cache.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "env/random.h"
#include "object/memory/memory_store.h"
#include "volume/pack.h"

namespace runnel::volume {
namespace {

// Reads from a cache, and says what came of it.
struct CacheUser {
  ObjectRange range;
  std::optional<Result<HeldBytes>> read;

  Async<void> use(PackCache& cache) {
    read.emplace(co_await cache.read(range, range));
    CO_TRY(Result<HeldBytes>(*read));
    co_return {};
  }
};

class WithPackCacheTest : public ::testing::Test {
 protected:
  VolumeContext context() { return {store_, env::real_clock(), env::real_random(), {}}; }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  Result<void> use(CacheUser& user, const async::StopToken& stop) {
    return loop_->block_on(with_pack_cache(
        *loop_, volume_, snapshot_, {}, [&user](PackCache& cache) { return user.use(cache); },
        stop));
  }
  // An object of the volume, as packs are.
  ObjectRange put(const std::string& bytes) {
    const ObjectId id = ObjectId::of(bytes, "12345678");
    run(store_.put("data/" + pack_key(id), object::make_body(bytes), object::Condition::absent(),
                   {}));
    return {id, 0, bytes.size()};
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore store_;
  Volume volume_ = run(Volume::create(context(), "data"));
  Snapshot snapshot_ = run(volume_.snapshot("latest"));
};

TEST_F(WithPackCacheTest, GivesWhatTheWorkReads) {
  CacheUser user{put("some bytes"), {}};
  ASSERT_TRUE(use(user, {}).ok());
  EXPECT_EQ(user.read.value()->bytes, "some bytes") << "held after the cache has gone";
}

TEST_F(WithPackCacheTest, HandsOnWhatFails) {
  CacheUser user{put("some bytes"), {}};
  user.range.length = 1'000;
  EXPECT_FALSE(use(user, {}).ok());
}

TEST_F(WithPackCacheTest, AStopEndsWhatWaits) {
  CacheUser user{put("some bytes"), {}};
  async::StopSource stop;
  stop.stop();
  EXPECT_EQ(use(user, stop.token()).error().code, Errc::kCancelled);
}

}  // namespace
}  // namespace runnel::volume
