#include "cli/transfer_line.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(TransferLine, TellsHowFarItIsAndWhenItEnds) {
  EXPECT_EQ(transfer_text("get", {120, 512 * kMiB, 1'024 * kMiB}, Duration::seconds(2)),
            "get  120 files  512 MiB of 1.0 GiB  50 %  256 MiB/s  3.0 s left");
}

TEST(TransferLine, TellsLessWhereLessIsKnown) {
  EXPECT_EQ(transfer_text("put", {1, 2 * kMiB, std::nullopt}, Duration::seconds(1)),
            "put  1 file  2.0 MiB  2.0 MiB/s");
  EXPECT_EQ(transfer_text("put", {0, 0, 10 * kMiB}, Duration::seconds(5)),
            "put  0 files  0 B of 10.0 MiB  0 %");
  EXPECT_EQ(transfer_text("put", {3, kMiB, 2 * kMiB}, Duration::millis(100)),
            "put  3 files  1.0 MiB of 2.0 MiB  50 %");
}

// As while a store is away.
TEST(TransferLine, TellsThatNothingComes) {
  const TransferState state{0, 224 * kMiB, 286 * kMiB};
  EXPECT_EQ(transfer_text("put", state, Duration::seconds(15), Duration::millis(13'400)),
            "put  0 files  224 MiB of 286 MiB  78 %  nothing for 13.0 s");
  EXPECT_EQ(transfer_text("put", state, Duration::seconds(2), Duration::seconds(1)),
            "put  0 files  224 MiB of 286 MiB  78 %  112 MiB/s  1.0 s left");
}

TEST(TransferLine, IsNotAtItsEndBeforeItIs) {
  EXPECT_EQ(transfer_text("put", {3, 12 * kMiB, 10 * kMiB}, Duration::seconds(1)),
            "put  3 files  12.0 MiB of 10.0 MiB  99 %  12.0 MiB/s");
}

}  // namespace
}  // namespace runnel::cli
