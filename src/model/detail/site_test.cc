#include "model/detail/site.h"

#include <gtest/gtest.h>

namespace runnel::model::detail {
namespace {

TEST(Site, NamesWhereItStands) {
  std::vector<Error> faults;
  const Site job(faults, Rules::kSubmitted);
  job.at("steps").at("a").at("retry").at("on_events").at(2).refuse("no", "", "yes");
  job.at("steps").at(3).at("name").refuse("no", "", "yes");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].field, "steps.a.retry.on_events[2]");
  EXPECT_EQ(faults[1].field, "steps[3].name");
}

TEST(Site, TellsValueLimitAndRemedy) {
  std::vector<Error> faults;
  const Site job(faults, Rules::kSubmitted);
  EXPECT_TRUE(job.within(3, 1, 3));
  EXPECT_FALSE(job.within(0, 1, 3));
  EXPECT_FALSE(job.within(Duration::seconds(9), Duration(), Duration::seconds(1)));
  EXPECT_FALSE(job.sized(9, 3, "bytes"));
  EXPECT_FALSE(job.text(std::string("a\0b", 3), 9));
  EXPECT_FALSE(job.named(""));
  ASSERT_EQ(faults.size(), 5u);
  EXPECT_EQ(faults[0].to_string(), "0 is too small; write a whole number from 1 to 3");
  EXPECT_EQ(faults[1].to_string(), "'9s' is too long; write a time from 0s to 1s");
  EXPECT_EQ(faults[2].to_string(), "9 bytes are more than 3; use at most 3");
}

TEST(Site, KeepsNoMoreThanAHundred) {
  std::vector<Error> faults;
  const Site job(faults, Rules::kStored);
  for (int i = 0; i < 200; ++i) job.refuse("no", "", "yes");
  EXPECT_EQ(faults.size(), kFaultsMax);
  EXPECT_TRUE(job.full());
  EXPECT_FALSE(job.submitted());
}

}  // namespace
}  // namespace runnel::model::detail
