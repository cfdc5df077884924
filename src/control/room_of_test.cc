#include "control/room_of.h"

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

using Verb = model::JobRequest::Verb;
using store::Room;

TEST(RoomOf, WhatHasHappenedIsTheRoomThatIsHeld) {
  EXPECT_EQ(room_of(model::NodeJoin{}), Room::kHeld);
  EXPECT_EQ(room_of(model::NodeReport{}), Room::kHeld);
  EXPECT_EQ(room_of(model::NodeLost{}), Room::kHeld);
  EXPECT_EQ(room_of(model::Recovered{}), Room::kHeld);
}

TEST(RoomOf, WhatFreesRoomIsTheReserveToo) {
  for (const Verb verb : {Verb::kCancel, Verb::kHalt, Verb::kDelete}) {
    EXPECT_EQ(room_of(model::JobRequest{.verb = verb}), Room::kReserve);
  }
}

TEST(RoomOf, WhatMayWaitIsNone) {
  for (const Verb verb : {Verb::kResume, Verb::kRetry}) {
    EXPECT_EQ(room_of(model::JobRequest{.verb = verb}), Room::kOrdinary);
  }
  EXPECT_EQ(room_of(model::Submit{}), Room::kOrdinary);
  EXPECT_EQ(room_of(model::Wake{}), Room::kOrdinary);
  EXPECT_EQ(room_of(model::TrialCall{}), Room::kOrdinary);
}

}  // namespace
}  // namespace runnel::control
