#include "agent/slow_starts.h"

#include <gtest/gtest.h>

namespace runnel::agent {
namespace {

Preparer::Waiting waiting(const char* job, std::int64_t task, const char* what, int second) {
  const model::TaskRef of{JobId(job), StepIndex(0), TaskIndex(task)};
  return {{NodeId("n1"), {of, AttemptNumber(1)}}, what, Time::from_millis(second * 1'000)};
}

TEST(SlowStarts, TellWhatTheTasksOfAStepWaitFor) {
  const std::vector<SlowStart> starts =
      slow_starts({waiting("a", 1, "its secrets", 5), waiting("a", 2, "its secrets", 4),
                   waiting("a", 3, "its folder", 3), waiting("b", 7, "its secrets", 2)});
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_EQ(starts[0].sentence, "task 3 waits since 1970-01-01T00:00:03.000Z for its folder");
  EXPECT_EQ(starts[1].sentence,
            "2 tasks wait, task 2 since 1970-01-01T00:00:04.000Z, for its secrets");
  EXPECT_EQ(starts[2].job, JobId("b"));
  EXPECT_TRUE(slow_starts({}).empty());
}

TEST(SlowStarts, TellApartWhoBeginsAndWhoEnds) {
  Preparer::Waiting ends = waiting("a", 1, "a store", 5);
  ends.until = Preparer::Until::kFinished;
  const std::vector<SlowStart> starts = slow_starts({waiting("a", 2, "a store", 4), ends});
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_EQ(starts[0].reason, "Preparing");
  EXPECT_EQ(starts[1].reason, "Flushing");
}

}  // namespace
}  // namespace runnel::agent
