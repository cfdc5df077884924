#include "spec/prices_file.h"

#include <gtest/gtest.h>

namespace runnel::spec {
namespace {

std::string prices_error(std::string_view text) {
  const auto types = parse_prices_file(text, "prices.yaml");
  return types.ok() ? "" : types.error().to_string();
}

// jobs.md 3.6: the machines that recipes name.
TEST(PricesFile, TheShippedTableHoldsEveryMachineOfARecipe) {
  const auto types = MUST(parse_prices_file(shipped_prices(), "shipped"));
  const auto type_for = [&](std::int64_t cpus, const char* device, std::int64_t devices) {
    model::Resources amount;
    amount.milli_cpus = cpus * 1000;
    if (devices > 0) amount.accelerators[device] = devices;
    const model::InstanceType* found = model::cheapest_for(types, amount);
    return found == nullptr ? "" : found->name;
  };
  EXPECT_EQ(type_for(2, "", 0), "m5.large");
  EXPECT_EQ(type_for(4, "", 0), "m5.xlarge");
  EXPECT_EQ(type_for(8, "", 0), "m5.2xlarge");
  EXPECT_EQ(type_for(16, "", 0), "m5.4xlarge");
  EXPECT_EQ(type_for(48, "", 0), "m5.12xlarge");
  EXPECT_EQ(type_for(96, "", 0), "m5.24xlarge");
  EXPECT_EQ(type_for(1, "K80", 1), "p2.xlarge");
  EXPECT_EQ(type_for(1, "K80", 8), "p2.8xlarge");
  EXPECT_EQ(type_for(1, "K80", 16), "p2.16xlarge");
  EXPECT_EQ(type_for(1, "V100", 1), "p3.2xlarge");
  EXPECT_EQ(type_for(1, "V100", 4), "p3.8xlarge");
  EXPECT_EQ(type_for(1, "V100", 8), "p3.16xlarge");
  for (const model::InstanceType& type : types) {
    EXPECT_LT(type.spot_price, type.price) << type.name;
  }
}

TEST(PricesFile, SaysWhatIsWrong) {
  EXPECT_EQ(prices_error("{}"),
            "prices.yaml:1:1: `instances` is a mapping of names to types; write "
            "instances: {small: {cpus: 2, memory: 8GB, price: 0.1}}");
  EXPECT_EQ(prices_error("instances: {a: {cpus: 2, memory: 8GB}}"),
            "prices.yaml:1:16: instances.a: `price` is missing; add price: 0.1");
  EXPECT_NE(prices_error("instances: {a: {cpus: 2, memory: 8GB, prize: 1}}").find("`price`"),
            std::string::npos);
  EXPECT_NE(prices_error("instances: {a: {cpus: 2, memory: 8GB, price: -1}}"), "");
  EXPECT_NE(prices_error("instances: {'a b': {cpus: 2, memory: 8GB, price: 1}}"), "");
}

}  // namespace
}  // namespace runnel::spec
