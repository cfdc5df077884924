#include "search/trial_memory.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

EndedTrial ended(std::int64_t number, double value) {
  return {.number = number,
          .grade = {.kind = Outcome::Kind::kComplete, .value = value},
          .units = {value}};
}

std::vector<std::int64_t> numbers(const std::vector<EndedTrial>& trials) {
  std::vector<std::int64_t> found;
  for (const EndedTrial& trial : trials) found.push_back(trial.number);
  return found;
}

TEST(Grade, CompleteThenPrunedThenFailed) {
  const Grade good = grade_of({.values = {1}});
  const Grade bad = grade_of({.values = {1e9}});
  const Grade late = grade_of({.kind = Outcome::Kind::kPruned, .values = {5}, .step = 20});
  const Grade late_and_worse =
      grade_of({.kind = Outcome::Kind::kPruned, .values = {6}, .step = 20});
  const Grade early = grade_of({.kind = Outcome::Kind::kPruned, .values = {-9}, .step = 1});
  const Grade silent = grade_of({.kind = Outcome::Kind::kPruned});
  const Grade failed = grade_of({.kind = Outcome::Kind::kFailed});
  const std::vector<Grade> order = {good, bad, late, late_and_worse, early, silent, failed};
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(std::ranges::adjacent_find(order), order.end());
}

TEST(TrialMemory, KeepsTheBestInOrder) {
  TrialMemory memory(3, 2, 1);
  for (std::int64_t number = 0; number < 100; ++number) {
    memory.add(ended(number, static_cast<double>((number * 37) % 100)));
  }
  EXPECT_EQ(memory.count(), 100);
  EXPECT_EQ(numbers(memory.best()), (std::vector<std::int64_t>{0, 73, 46}));
  EXPECT_EQ(memory.others().size(), 2u);
}

TEST(TrialMemory, EqualTrialsStandInTheOrderOfTheirNumbers) {
  TrialMemory memory(2, 5, 1);
  for (const std::int64_t number : {4, 2, 9, 1}) memory.add(ended(number, 7));
  EXPECT_EQ(numbers(memory.best()), (std::vector<std::int64_t>{1, 2}));
}

TEST(TrialMemory, TheOrderOfAddingDoesNotMatter) {
  TrialMemory up(5, 10, 3);
  TrialMemory down(5, 10, 3);
  for (std::int64_t number = 0; number < 200; ++number) {
    up.add(ended(number, static_cast<double>((number * 71) % 200)));
    const std::int64_t other = 199 - number;
    down.add(ended(other, static_cast<double>((other * 71) % 200)));
  }
  std::vector<std::int64_t> sampled = numbers(up.others());
  std::vector<std::int64_t> same = numbers(down.others());
  std::ranges::sort(sampled);
  std::ranges::sort(same);
  EXPECT_EQ(numbers(up.best()), numbers(down.best()));
  EXPECT_EQ(sampled, same);
}

// 200 of 2,000: the quarters of the ranking expect 50 each, with a deviation of 6.
TEST(TrialMemory, TheSampleStandsForAllOthers) {
  TrialMemory memory(10, 200, 5);
  for (std::int64_t number = 0; number < 2'010; ++number) {
    memory.add(ended(number, static_cast<double>((number * 7) % 2'010)));
  }
  std::vector<int> quarters(4, 0);
  for (const EndedTrial& trial : memory.others()) {
    ++quarters[static_cast<std::size_t>((trial.grade.value - 10) / 500)];
  }
  for (const int count : quarters) EXPECT_NEAR(count, 50, 25);
}

}  // namespace
}  // namespace runnel::search
