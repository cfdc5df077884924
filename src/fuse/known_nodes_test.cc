#include "fuse/known_nodes.h"

#include <gtest/gtest.h>

namespace runnel::fuse {
namespace {

TEST(KnownNodes, OneIsForgottenAsOftenAsItWasToldOf) {
  KnownNodes known;
  known.add(5);
  known.add(5);
  known.add(6);
  EXPECT_FALSE(known.forget(5, 1)) << "an answer that the kernel had no use for";
  EXPECT_TRUE(known.forget(5, 1));
  EXPECT_TRUE(known.forget(6, 1));
}

TEST(KnownNodes, WhatAServerBeforeHasToldCountsToo) {
  KnownNodes known;
  EXPECT_TRUE(known.forget(5, 3)) << "all three by a server before";
  known.add(6);
  EXPECT_TRUE(known.forget(6, 4)) << "three of them by a server before";
}

}  // namespace
}  // namespace runnel::fuse
