#include "model/holding.h"

#include <gtest/gtest.h>

#include "model/codec.h"

namespace runnel::model {
namespace {

Holding holding_in(const std::string& text) {
  const Event event = decode_event(MUST(json::parse(text))).value();
  EXPECT_EQ(encode_text(event), text);
  return std::get<LaneOpened>(event).holding;
}

TEST(Holding, OfPlacesIsStoredAsThem) {
  const Holding holding =
      holding_in(R"({"job":"j","lane":1,"places":[{"node":"n","ranks":2}],"type":"lane.opened"})");
  EXPECT_EQ(holding, Holding(Places{{{NodeId("n"), 2}}}));
  EXPECT_EQ(places_of(holding).size(), 1U);
}

TEST(Holding, WithoutPlacesIsALease) {
  const Holding holding =
      holding_in(R"({"holder":"me","job":"j","lane":1,"lease":60000,"type":"lane.opened"})");
  EXPECT_EQ(holding, Holding(Lease{Duration::seconds(60), "me"}));
  EXPECT_TRUE(places_of(holding).empty());
  // As builds wrote it that knew no word of the holder.
  EXPECT_EQ(holding_in(R"({"job":"j","lane":1,"type":"lane.opened"})"), Holding(Lease{}));
}

}  // namespace
}  // namespace runnel::model
