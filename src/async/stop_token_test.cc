#include "async/stop_token.h"

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace runnel::async {
namespace {

TEST(StopToken, ADefaultOneNeverStops) {
  StopToken token;
  StopCallback callback(token, [] { FAIL(); });
  EXPECT_FALSE(token.stopped());
  EXPECT_TRUE(token.check().ok());
}

TEST(StopToken, StopIsSeenByAllCopiesAndIsIdempotent) {
  StopSource source;
  StopToken token = source.token();
  int calls = 0;
  StopCallback callback(token, [&calls] { ++calls; });
  source.stop();
  source.stop();
  EXPECT_TRUE(token.stopped());
  EXPECT_EQ(token.check().error().code, Errc::kCancelled);
  EXPECT_EQ(calls, 1);
}

TEST(StopToken, CallbacksRunInTheOrderOfRegistration) {
  StopSource source;
  std::string order;
  StopCallback first(source.token(), [&order] { order += "1"; });
  StopCallback second(source.token(), [&order] { order += "2"; });
  source.stop();
  EXPECT_EQ(order, "12");
}

TEST(StopToken, ALateCallbackRunsAtOnce) {
  StopSource source;
  source.stop();
  bool called = false;
  StopCallback callback(source.token(), [&called] { called = true; });
  EXPECT_TRUE(called);
}

TEST(StopToken, ADestroyedCallbackIsForgotten) {
  StopSource source;
  {
    StopCallback callback(source.token(), [] { FAIL(); });
  }
  source.stop();
}

TEST(StopToken, ACallbackMayDestroyItselfItsNeighbourAndTheSource) {
  auto source = std::make_unique<StopSource>();
  std::optional<StopCallback> self;
  std::optional<StopCallback> neighbour;
  bool neighbour_called = false;
  self.emplace(source->token(), [&] {
    neighbour.reset();
    self.reset();
    source.reset();
  });
  neighbour.emplace(source->token(), [&] { neighbour_called = true; });
  source->stop();
  EXPECT_FALSE(neighbour_called);
  EXPECT_EQ(source, nullptr);
}

TEST(StopToken, ACallbackAddedDuringStopRunsAtOnce) {
  StopSource source;
  std::optional<StopCallback> late;
  bool called = false;
  StopCallback callback(source.token(),
                        [&] { late.emplace(source.token(), [&called] { called = true; }); });
  source.stop();
  EXPECT_TRUE(called);
}

TEST(StopToken, AChildStopsWithItsParentButNotTheOtherWay) {
  StopSource parent;
  StopSource child(parent.token());
  StopSource sibling(parent.token());
  child.stop();
  EXPECT_FALSE(parent.stopped());
  EXPECT_FALSE(sibling.stopped());
  parent.stop();
  EXPECT_TRUE(sibling.stopped());
}

TEST(StopToken, ATokenOutlivesItsSource) {
  StopToken token;
  {
    StopSource source;
    token = source.token();
  }
  StopCallback callback(token, [] { FAIL(); });
  EXPECT_FALSE(token.stopped());
}

}  // namespace
}  // namespace runnel::async
