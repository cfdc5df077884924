#include "control/job_id.h"

#include <set>

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

constexpr Time kNow = Time::from_millis(1'790'000'000'000);

TEST(JobIdMaker, MakesTwelveDigitsThatSortByTime) {
  JobIdMaker maker(1, Time());
  const JobId first = maker.next(kNow);
  const JobId later = maker.next(kNow + Duration::hours(24 * 365 * 100));
  EXPECT_EQ(first.str().size(), kJobIdDigits);
  EXPECT_TRUE(is_job_id_prefix(first.str()));
  EXPECT_LT(first, later);
}

TEST(JobIdMaker, GrowsWhileTheClockStandsOrGoesBack) {
  JobIdMaker maker(1, Time());
  JobId last = maker.next(kNow);
  for (int step = 0; step < 1000; ++step) {
    const JobId next = maker.next(kNow - Duration::millis(step));
    EXPECT_LT(last, next);
    last = next;
  }
}

TEST(JobIdMaker, GoesOnAfterTheNewestTimeOfTheLog) {
  JobIdMaker before(1, Time());
  const JobId old = before.next(kNow);
  JobIdMaker after(1, kNow);
  EXPECT_LT(old, after.next(kNow - Duration::hours(1)));
}

TEST(JobIdMaker, IdsTellTheirTime) {
  JobIdMaker maker(7, Time());
  EXPECT_EQ(time_of(maker.next(kNow)), kNow);
  EXPECT_EQ(time_of(maker.next(kNow)), kNow + Duration::millis(1));  // Ahead of the clock.
  EXPECT_EQ(time_of(JobId("job1")), Time());
  EXPECT_EQ(time_of(JobId()), Time());
}

TEST(JobIdMaker, SaltsKeepHomesApart) {
  std::set<JobId> ids;
  for (std::uint64_t salt = 0; salt < 100; ++salt) ids.insert(JobIdMaker(salt, Time()).next(kNow));
  EXPECT_GT(ids.size(), 95U);
}

TEST(JobIdPrefix, RefusesWhatNoIdHolds) {
  EXPECT_TRUE(is_job_id_prefix("0"));
  EXPECT_FALSE(is_job_id_prefix(""));
  EXPECT_FALSE(is_job_id_prefix("0123456789abc"));
  EXPECT_FALSE(is_job_id_prefix("train"));
  EXPECT_FALSE(is_job_id_prefix("A1"));
  EXPECT_FALSE(is_job_id_prefix("../etc"));
}

}  // namespace
}  // namespace runnel::control
