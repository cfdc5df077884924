#include "object/open_store.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "env/files.h"
#include "env/random.h"
#include "env/testing/temporary_directory.h"

namespace runnel::object {
namespace {

class OpenStoreTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<OpenedStore>> open_beside(const std::string& path) {
    const StoreUrl url = MUST(parse_store_url("file://" + path));
    return loop_->block_on(OpenedStore::open_beside(*loop_, env::real_clock(), env::real_random(),
                                                    url, KeyRule::kEveryStore,
                                                    OpenedStore::own_variable));
  }

  env::testing::TemporaryDirectory folder_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
};

TEST_F(OpenStoreTest, AFolderThatIsOpenedBesideTheLoopIsAStore) {
  const auto opened = MUST(open_beside(folder_.path() + "/volumes"));
  MUST(loop_->block_on(opened->store().put("a/b", make_body("1"), Condition::absent(), {})));
  EXPECT_EQ(MUST(loop_->block_on(opened->store().get("a/b", 10, {}))).bytes, "1");
  EXPECT_EQ(opened->meter().requests(), 2) << "both are counted";
  EXPECT_TRUE(MUST(loop_->block_on(opened->give_up_reserve())));
  MUST(loop_->block_on(opened->stop()));
}

TEST_F(OpenStoreTest, WhatIsNoFolderIsAnError) {
  MUST(env::write_file_atomically(folder_.path() + "/file", "1"));
  const auto opened = open_beside(folder_.path() + "/file");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("/file"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace runnel::object
