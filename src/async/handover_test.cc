#include "async/handover.h"

#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace runnel::async {
namespace {

TEST(Handover, GivesAValueOrAnErrorToWhoWaits) {
  Handover<std::unique_ptr<int>> value;
  Handover<void> error;
  std::thread giver([&] {
    value.give(std::make_unique<int>(7));
    error.give(Error(Errc::kIo, "disk"));
  });
  EXPECT_EQ(*MUST(value.take()), 7);
  EXPECT_EQ(error.take().error().message, "disk");
  giver.join();
}

TEST(Handover, MayBeGivenBeforeAnybodyWaits) {
  Handover<std::string> early;
  early.give(std::string("here"));
  EXPECT_EQ(MUST(early.take()), "here");
}

// The giver must not touch it any more once the taker has it.
TEST(Handover, IsDestroyedRightAfterItWasTaken) {
  for (int round = 0; round < 1'000; ++round) {
    auto once = std::make_unique<Handover<int>>();
    std::thread giver([given = once.get(), round] { given->give(round); });
    EXPECT_EQ(MUST(once->take()), round);
    once.reset();
    giver.join();
  }
}

}  // namespace
}  // namespace runnel::async
