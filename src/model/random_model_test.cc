#include "model/testing/random_model.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "model/codec.h"

namespace runnel::model {
namespace {

std::string story(std::uint64_t seed, int length) {
  RandomModel random(seed);
  std::string out;
  for (int i = 0; i < length; ++i) out += encode_text(random.event()) + encode_text(random.input());
  return out;
}

// The published first values for seed 0: the generator is the one that its name says, everywhere.
TEST(RandomModel, IsSplitMix64) {
  RandomModel random(0);
  EXPECT_EQ(random.bits(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(random.bits(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(random.bits(), 0x06C45D188009454Fu);
}

TEST(RandomModel, ASeedRepeatsItselfAndNoOther) {
  EXPECT_EQ(story(7, 50), story(7, 50));
  EXPECT_NE(story(7, 50), story(8, 50));
}

TEST(RandomModel, AmountsReachBothEnds) {
  RandomModel random(1);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t amount = random.amount(1000);
    ASSERT_GE(amount, 0);
    ASSERT_LE(amount, 1000);
    seen.insert(amount);
  }
  EXPECT_TRUE(seen.contains(0));
  EXPECT_TRUE(seen.contains(1000));
  EXPECT_GT(seen.size(), 50u);
}

TEST(RandomModel, MakesEveryTypeAndEveryStatus) {
  RandomModel random(2);
  std::set<std::string_view> events;
  std::set<std::string_view> inputs;
  std::set<Status> statuses;
  for (int i = 0; i < 1000; ++i) {
    events.insert(type_of(random.event()));
    inputs.insert(type_of(random.input()));
    statuses.insert(random.status());
  }
  EXPECT_EQ(events.size(), std::variant_size_v<Event>);
  EXPECT_EQ(inputs.size(), std::variant_size_v<Input>);
  EXPECT_EQ(statuses.size(), static_cast<std::size_t>(kStatusCount));
}

TEST(RandomModel, AskedForATypeItMakesThatOne) {
  RandomModel random(3);
  for (std::size_t i = 0; i < std::variant_size_v<Event>; ++i) {
    EXPECT_EQ(random.event(i).index(), i);
  }
  for (std::size_t i = 0; i < std::variant_size_v<Input>; ++i) {
    EXPECT_EQ(random.input(i).index(), i);
  }
}

// Specifications use each of their fields somewhere; a generator that forgot one would test
// nothing.
TEST(RandomModel, SpecificationsUseEveryField) {
  RandomModel random(4);
  std::set<std::string> keys;
  for (int i = 0; i < 300; ++i) {
    const json::Value spec = MUST(json::parse(encode_text(random.spec())));
    for (const auto& [key, member] : spec.as_object()) keys.insert(key);
    for (const json::Value& step : spec.find("steps")->as_list()) {
      for (const auto& [key, member] : step.as_object()) keys.insert("steps." + key);
    }
  }
  EXPECT_EQ(keys.size(), 6u + 23u);
}

TEST(RandomModel, NodesAreLegal) {
  RandomModel random(5);
  for (int i = 0; i < 500; ++i) {
    const Result<void> result = check_node(random.node());
    ASSERT_TRUE(result.ok()) << result.error().to_string();
  }
}

}  // namespace
}  // namespace runnel::model
