#include "volume_sim/expected.h"

#include <gtest/gtest.h>

namespace runnel::volume_sim {
namespace {

TEST(Expected, WhatABadNetworkCausesIsNoFault) {
  for (const Errc code : {Errc::kUnavailable, Errc::kTimeout, Errc::kCancelled, Errc::kFull,
                          Errc::kDenied, Errc::kConflict}) {
    EXPECT_TRUE(is_expected(Error(code, "it happens")));
  }
  EXPECT_TRUE(is_expected(Error(Errc::kNotFound, "deleted").with_field("volume")));
}

TEST(Expected, WhatIsMissingOrDamagedIs) {
  EXPECT_FALSE(is_expected(Error(Errc::kNotFound, "there is no object")));
  EXPECT_FALSE(is_expected(Error(Errc::kCorrupt, "damaged")));
  EXPECT_FALSE(is_expected(Error(Errc::kInternal, "a defect")));
}

}  // namespace
}  // namespace runnel::volume_sim
