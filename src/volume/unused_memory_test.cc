#include "volume/unused_memory.h"

#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include "async/virtual/process.h"
#include "base/agenda.h"
#include "volume/recently_used.h"

namespace runnel::volume {
namespace {

class UnusedMemoryTest : public ::testing::Test {
 protected:
  void pass(Duration time) {
    bool is_over = false;
    agenda_.at(agenda_.now() + time, [&is_over] { is_over = true; });
    while (!is_over) agenda_.step();
  }

  Agenda agenda_;
  async::EventLoop loop_{std::make_unique<async::VirtualProcess>(
      agenda_, async::VirtualOptions{7, [](std::string_view) { return Duration(); }})};
  ReaderMemory memory_;
  RecentlyUsed<int, int> pages_{memory_.pages};
  RecentlyUsed<int, int> packs_{memory_.packs};
  RecentlyUsed<int, int> layouts_{memory_.layouts};
  UnusedMemory unused_{loop_, memory_};
};

TEST_F(UnusedMemoryTest, GoesAfterSomeSeconds) {
  packs_.keep(1, 1, 1'000);
  packs_.keep(2, 2, 1'000);
  pass(UnusedMemory::kUnusedMax - UnusedMemory::kLookEvery);
  EXPECT_EQ(packs_.size(), 2'000U);
  EXPECT_NE(packs_.find(2), nullptr);
  pass(UnusedMemory::kLookEvery * 2 + Duration::millis(1));
  EXPECT_EQ(packs_.size(), 1'000U) << "the one that was used";
  pass(UnusedMemory::kUnusedMax + UnusedMemory::kLookEvery + Duration::millis(1));
  EXPECT_EQ(packs_.size(), 0U);
}

TEST_F(UnusedMemoryTest, WhereFilesAreGoesToo) {
  layouts_.keep(1, 1, 1'000);
  pass(UnusedMemory::kUnusedMax + UnusedMemory::kLookEvery + Duration::millis(1));
  EXPECT_EQ(layouts_.size(), 0U);
}

TEST_F(UnusedMemoryTest, PagesOfIndicesStay) {
  pages_.keep(1, 1, 1'000);
  pass(UnusedMemory::kUnusedMax * 10);
  EXPECT_EQ(pages_.size(), 1'000U);
}

}  // namespace
}  // namespace runnel::volume
