#include "fuse/error_notices.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "env/testing/manual_clock.h"

namespace runnel::fuse {
namespace {

class ErrorNoticesTest : public ::testing::Test {
 protected:
  void tell(const std::string& text) { notices_.tell(Error(Errc::kIo, text)); }

  env::testing::ManualClock clock_;
  std::vector<std::string> heard_;
  ErrorNotices notices_{clock_, "data",
                        [this](const std::string& text, bool) { heard_.push_back(text); }};
};

TEST_F(ErrorNoticesTest, SaysACauseOnceInAWhile) {
  tell("a pack is damaged");
  tell("a pack is damaged");
  tell("the store is away");
  EXPECT_EQ(heard_, (std::vector<std::string>{"a pack is damaged", "the store is away"}));
  clock_.advance(ErrorNotices::kQuiet - Duration::millis(1));
  tell("a pack is damaged");
  EXPECT_EQ(heard_.size(), 2U);
  clock_.advance(Duration::millis(1));
  tell("a pack is damaged");
  EXPECT_EQ(heard_.size(), 3U);
}

TEST_F(ErrorNoticesTest, NamesWhatFindsAllDamage) {
  notices_.tell(Error(Errc::kCorrupt, "a chunk is damaged"));
  EXPECT_EQ(heard_.back(), "a chunk is damaged; see all that is damaged: runnel volume fsck data");
}

TEST_F(ErrorNoticesTest, CountsWhatItHasNoRoomFor) {
  for (std::size_t number = 0; number < ErrorNotices::kSentencesMax + 5; ++number) {
    tell("pack " + std::to_string(number));
  }
  EXPECT_EQ(heard_.size(), ErrorNotices::kSentencesMax);
  clock_.advance(ErrorNotices::kQuiet);
  tell("one more");
  EXPECT_EQ(heard_.back(), "one more (and 5 others that were not told)");
  tell("another");
  EXPECT_EQ(heard_.back(), "another");
}

TEST_F(ErrorNoticesTest, WithoutAnybodyToTellSaysNothing) {
  ErrorNotices notices(clock_, "data", {});
  notices.tell(Error(Errc::kIo, "nobody hears it"));
}

}  // namespace
}  // namespace runnel::fuse
