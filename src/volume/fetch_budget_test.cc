#include "volume/fetch_budget.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::volume {
namespace {

// Fetches as soon as it may.
class Wants final : public FetchBudget::Fetcher {
 public:
  Wants(FetchBudget& budget, std::vector<std::uint64_t> bytes)
      : budget_(budget), bytes_(std::move(bytes)) {
    fetch_more();
  }
  void fetch_more() override {
    for (; begun < bytes_.size(); ++begun) {
      if (!budget_.take(*this, bytes_[begun])) return;
    }
    budget_.leave(*this);
  }
  void end(std::size_t index) { budget_.give_back(bytes_[index]); }
  void lose_interest() {
    bytes_.resize(begun);
    budget_.leave(*this);
  }

  std::size_t begun = 0;

 private:
  FetchBudget& budget_;
  std::vector<std::uint64_t> bytes_;
};

TEST(FetchBudget, HasRoomForSoManyBytes) {
  FetchBudget budget(100);
  Wants one(budget, {60, 40, 10});
  EXPECT_EQ(one.begun, 2U);
  one.end(1);
  EXPECT_EQ(one.begun, 3U);
  EXPECT_EQ(budget.taken(), 70U);
}

TEST(FetchBudget, ARequestThatIsLargerGoesAlone) {
  FetchBudget budget(100);
  Wants one(budget, {10, 300, 10});
  EXPECT_EQ(one.begun, 1U);
  one.end(0);
  EXPECT_EQ(one.begun, 2U);
  one.end(1);
  EXPECT_EQ(one.begun, 3U);
}

TEST(FetchBudget, WhoWaitsHasTurns) {
  FetchBudget budget(100);
  Wants greedy(budget, {100, 50, 50, 50, 50});
  Wants other(budget, {50, 50});
  EXPECT_EQ(other.begun, 0U);
  greedy.end(0);
  EXPECT_EQ(greedy.begun, 2U);
  EXPECT_EQ(other.begun, 1U);
  greedy.end(1);
  EXPECT_EQ(greedy.begun, 3U);
  EXPECT_EQ(other.begun, 1U);
  other.end(0);
  EXPECT_EQ(other.begun, 2U);
}

// Small ones that always find room would keep a large one waiting for ever.
TEST(FetchBudget, NobodyIsOvertaken) {
  FetchBudget budget(100);
  Wants first(budget, {60});
  Wants large(budget, {80});
  Wants small(budget, {10});
  EXPECT_EQ(small.begun, 0U);
  first.end(0);
  EXPECT_EQ(large.begun, 1U);
  EXPECT_EQ(small.begun, 1U);
}

TEST(FetchBudget, WhoLeavesHoldsUpNobody) {
  FetchBudget budget(100);
  Wants first(budget, {60});
  Wants large(budget, {80});
  Wants small(budget, {10});
  large.lose_interest();
  first.end(0);
  EXPECT_EQ(small.begun, 1U);
}

}  // namespace
}  // namespace runnel::volume
