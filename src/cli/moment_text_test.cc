#include "cli/moment_text.h"

#include <cstdlib>
#include <ctime>

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

TEST(MomentText, IsOfTheTimeZoneOfTheMachine) {
  ::setenv("TZ", "XYZ-2", 1);
  ::tzset();
  EXPECT_EQ(local_moment("2026-11-22T23:27:57.908Z"), "2026-11-23 01:27:57");
  ::unsetenv("TZ");
  ::tzset();
}

TEST(MomentText, LeavesWhatIsNoMoment) { EXPECT_EQ(local_moment("soon"), "soon"); }

}  // namespace
}  // namespace runnel::cli
