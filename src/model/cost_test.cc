#include "model/cost.h"

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

Resources machine(std::int64_t cpus, std::int64_t gibi) {
  Resources amount;
  amount.milli_cpus = cpus * 1000;
  amount.memory = Bytes::gibi(gibi);
  return amount;
}

NodeInfo node_for(Money price) {
  NodeInfo node;
  node.id = NodeId("n");
  node.capacity = machine(4, 16);
  node.price = price;
  return node;
}

// Two m5.xlarge-like nodes for 90 s and one more for an hour, by hand: 0.192 * (2 * 90 / 3600 + 1).
TEST(Cost, IsSecondsTimesPrice) {
  const Rate whole = rate_of(node_for(Money::micros(192'000)), machine(4, 16));
  Cost cost = cost_of(whole + whole, Duration::seconds(90)) + cost_of(whole, Duration::hours(1));
  EXPECT_EQ(dollars(cost.paid), "0.201600");
  EXPECT_EQ(cost.paid, cost.list);
}

TEST(Cost, ASpotNodeSaves) {
  NodeInfo node = node_for(Money::micros(3'060'000));
  node.spot_price = Money::micros(918'000);
  EXPECT_EQ(rate_of(node, machine(4, 16)).paid, Money::nanos(3'060'000'000));
  node.spot = true;
  const Cost cost = cost_of(rate_of(node, machine(4, 16)), Duration::minutes(30));
  EXPECT_EQ(dollars(cost.paid), "0.459000");
  EXPECT_EQ(dollars(cost.list), "1.530000");
}

TEST(Cost, ThePriceGoesByTheLargestShare) {
  NodeInfo node = node_for(Money::dollars(1));
  node.capacity.accelerators["K80"] = 8;
  EXPECT_EQ(rate_of(node, machine(1, 1)).paid, Money::nanos(250'000'000));
  EXPECT_EQ(rate_of(node, machine(1, 8)).paid, Money::nanos(500'000'000));
  Resources devices = machine(1, 1);
  devices.accelerators["K80"] = 8;
  EXPECT_EQ(rate_of(node, devices).paid, Money::dollars(1));
  EXPECT_EQ(rate_of(node, Resources()).paid, Money());
}

TEST(Cost, AMillisecondIsNotFree) {
  EXPECT_EQ(
      cost_of(rate_of(node_for(Money::micros(96'000)), machine(4, 1)), Duration::millis(1)).paid,
      Money::nanos(26));
}

TEST(Cost, AHugePriceStaysANumber) {
  NodeInfo node = node_for(kPriceMax);
  const Cost cost = cost_of(rate_of(node, machine(4, 16)), Duration::hours(24 * 365));
  EXPECT_GT(cost.paid, Money());
}

TEST(InstanceTypes, TheCheapestThatHoldsIt) {
  const std::vector<InstanceType> types = {
      {"large", machine(8, 32), Money::micros(400), Money::micros(100)},
      {"small", machine(2, 8), Money::micros(100), Money::micros(30)},
      {"also", machine(2, 8), Money::micros(100), Money()}};
  EXPECT_EQ(cheapest_for(types, machine(1, 1))->name, "also");
  EXPECT_EQ(cheapest_for(types, machine(4, 1))->name, "large");
  EXPECT_EQ(cheapest_for(types, machine(16, 1)), nullptr);
}

}  // namespace
}  // namespace runnel::model
