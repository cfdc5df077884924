#include "volume/layered_store.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "object/memory/memory_store.h"

namespace runnel::volume {
namespace {

class LayeredStoreTest : public ::testing::Test {
 protected:
  std::string content(const std::string& key) {
    return MUST(loop_->block_on(layers_.get(key, 100, {}))).bytes;
  }
  Error error(const std::string& key, std::int64_t limit = 100) {
    return loop_->block_on(layers_.get(key, limit, {})).error();
  }
  void keep(const std::string& key) { store_.objects()[key] = {key, "1"}; }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore store_;
  LayeredStore layers_{store_, {"mine/", "theirs/", "data/"}};
};

TEST_F(LayeredStoreTest, PacksAndPagesAreOfWhicheverHasThem) {
  for (const char* key : {"mine/p/1", "theirs/p/2", "data/p/3", "data/i/4"}) keep(key);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(content("mine/p/1"), "mine/p/1");
    EXPECT_EQ(content("mine/p/2"), "theirs/p/2");
    EXPECT_EQ(content("mine/p/3"), "data/p/3");
    EXPECT_EQ(content("mine/i/4"), "data/i/4");
  }
  std::string part(3, '\0');
  MUST(loop_->block_on(layers_.read("mine/p/3", "", 5, part, {})));
  EXPECT_EQ(part, "p/3");
}

TEST_F(LayeredStoreTest, AllElseIsItsOwn) {
  for (const char* key : {"data/head", "data/v/1", "data/s/1", "theirs/g/1"}) keep(key);
  for (const char* key : {"mine/head", "mine/v/1", "mine/s/1", "mine/g/1"}) {
    EXPECT_EQ(error(key).code, Errc::kNotFound) << key;
  }
}

TEST_F(LayeredStoreTest, AnErrorIsOfItsOwnKeyAndEndsTheSearch) {
  keep("theirs/p/2");
  EXPECT_NE(error("mine/p/9").to_string().find("mine/p/9"), std::string::npos);
  EXPECT_EQ(error("mine/p/2", 1).code, Errc::kInvalid) << "larger than wanted";
}

}  // namespace
}  // namespace runnel::volume
