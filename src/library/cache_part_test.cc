#include "library/cache_part.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::library {
namespace {

class CachePartTest : public ::testing::Test {
 protected:
  using CachePtr = std::unique_ptr<volume::DiskCache>;

  CachePtr open() { return MUST(loop_->block_on(open_cache_part(*loop_, options_))); }
  void close(CachePtr cache) { MUST(loop_->block_on(cache->close())); }
  std::vector<std::string> parts() { return MUST(env::list_directory(folder_.path())); }

  env::testing::TemporaryDirectory folder_;
  volume::DiskCache::Options options_{folder_.path(), Bytes::mebi(128)};
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
};

TEST_F(CachePartTest, IsTheFirstThatIsFree) {
  CachePtr first = open();
  CachePtr second = open();
  EXPECT_EQ(parts(), (std::vector<std::string>{"part-0", "part-1"}));
  close(std::move(first));
  CachePtr again = open();
  EXPECT_EQ(parts().size(), 2U) << "part-0 is free again";
  close(std::move(again));
  close(std::move(second));
}

TEST_F(CachePartTest, IsRefusedLikeAnyOtherCache) {
  options_.bytes = Bytes::mebi(1);
  const auto opened = loop_->block_on(open_cache_part(*loop_, options_));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Errc::kInvalid);
  EXPECT_EQ(opened.error().field, "cache-size");
}

}  // namespace
}  // namespace runnel::library
