#include "base/ids.h"

#include <sstream>
#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

namespace runnel {
namespace {

// Ids of different things neither convert nor compare.
static_assert(!std::is_convertible_v<JobId, NodeId>);
static_assert(!std::is_convertible_v<std::string, JobId>);
static_assert(!std::is_convertible_v<std::int64_t, EventSeq>);
static_assert(!std::is_same_v<EventSeq, BatchSeq>);
static_assert(sizeof(TaskIndex) == sizeof(std::int64_t));

TEST(NamedText, ComparesByItsTextAndIsEmptyWithout) {
  EXPECT_TRUE(JobId().empty());
  EXPECT_EQ(JobId("a"), JobId("a"));
  EXPECT_LT(JobId("a"), JobId("b"));
  EXPECT_EQ(JobId("abc").str(), "abc");
}

TEST(NamedInt, ComparesByItsNumber) {
  EXPECT_EQ(EventSeq().value(), 0);
  EXPECT_LT(EventSeq(1), EventSeq(2));
  EXPECT_EQ(StepIndex(3), StepIndex(3));
}

TEST(Ids, PrintAndHash) {
  std::ostringstream out;
  out << JobId("j1") << ' ' << TaskIndex(7);
  EXPECT_EQ(out.str(), "j1 7");
  const std::unordered_set<JobId> jobs = {JobId("a"), JobId("a"), JobId("b")};
  const std::unordered_set<TaskIndex> tasks = {TaskIndex(1), TaskIndex(1), TaskIndex(2)};
  EXPECT_EQ(jobs.size(), 2U);
  EXPECT_EQ(tasks.size(), 2U);
}

}  // namespace
}  // namespace runnel
