#include "cli/devices_text.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

std::string placed(const std::string& row) { return placed_devices_text(MUST(json::parse(row))); }

TEST(DevicesText, NamesKindAndIndices) {
  EXPECT_EQ(devices_text(MUST(json::parse(R"({"H100":[0,1,3],"L4":[2]})"))), "H100:0,1,3 L4:2");
  EXPECT_EQ(devices_text(MUST(json::parse(R"({"H100":[0,1,2,3,4,5,6,7]})"))), "H100:0-7");
}

TEST(DevicesText, NamesTheNodeOnlyWhereThereAreSeveral) {
  EXPECT_EQ(placed(R"({"devices":{"a":{"H100":[0]}}})"), "H100:0");
  EXPECT_EQ(placed(R"({"devices":{"a":{"H100":[0]},"b":{"H100":[0,1]}}})"), "a H100:0; b H100:0,1");
  EXPECT_EQ(placed("{}"), "-");
}

}  // namespace
}  // namespace runnel::cli
