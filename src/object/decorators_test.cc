#include <memory>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "env/clock.h"
#include "object/memory/memory_store.h"
#include "object/metered_store.h"
#include "object/throttled_store.h"

namespace runnel::object {
namespace {

class DecoratorsTest : public ::testing::Test {
 protected:
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  MemoryStore memory_;
};

TEST_F(DecoratorsTest, AMeterCountsRequestsAndBytes) {
  MeteredStore store(memory_, env::real_clock());
  MUST(loop_->block_on(store.put("a", make_body("12345"), Condition::absent(), {})));
  EXPECT_FALSE(loop_->block_on(store.put("a", make_body("1"), Condition::absent(), {})).ok());
  MUST(loop_->block_on(store.get("a", 10, {})));
  EXPECT_FALSE(loop_->block_on(store.get("b", 10, {})).ok());
  EXPECT_FALSE(loop_->block_on(store.get("a", 1, {})).ok());
  std::string two(2, '?');
  MUST(loop_->block_on(store.read("a", "", 1, two, {})));
  MUST(loop_->block_on(store.list("", "", {})));
  MUST(loop_->block_on(store.remove("a", {})));
  EXPECT_EQ(store.meter().put.requests, 2);
  EXPECT_EQ(store.meter().put.bytes, 5);
  EXPECT_EQ(store.meter().put.errors, 0) << "a condition that does not hold is an answer";
  EXPECT_EQ(store.meter().get.requests, 3);
  EXPECT_EQ(store.meter().get.errors, 1);
  EXPECT_EQ(store.meter().get.bytes, 5);
  EXPECT_EQ(store.meter().read.bytes, 2);
  EXPECT_EQ(store.meter().requests(), 8);
}

TEST_F(DecoratorsTest, ALinkCarriesSoManyBytesASecond) {
  ThrottledStore store(*loop_, env::real_clock(), memory_, Bytes::count(1'000'000));
  const Duration begin = env::real_clock().boot();
  for (int number = 0; number < 10; ++number) {
    MUST(loop_->block_on(store.put("a", make_body(std::string(10'000, 'x')), {}, {})));
  }
  EXPECT_GE(env::real_clock().boot() - begin, Duration::millis(90));
}

}  // namespace
}  // namespace runnel::object
