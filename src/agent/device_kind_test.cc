#include "agent/device_kind.h"

#include <gtest/gtest.h>

namespace runnel::agent {
namespace {

TEST(DeviceKind, IsInTheNameOfItsDevice) {
  EXPECT_TRUE(is_of_kind("NVIDIA H100 80GB HBM3", "H100"));
  EXPECT_TRUE(is_of_kind("NVIDIA GeForce RTX 4090", "rtx-4090"));
  EXPECT_TRUE(is_of_kind("NVIDIA A100-SXM4-80GB", "A100"));
  EXPECT_FALSE(is_of_kind("NVIDIA L40S", "L4"));
  EXPECT_FALSE(is_of_kind("", "L4"));
}

TEST(DeviceKind, IsWhatTheNameSaysOfTheModel) {
  EXPECT_EQ(kind_of("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(kind_of("NVIDIA H100 PCIe"), "H100");
  EXPECT_EQ(kind_of("NVIDIA H100 NVL"), "H100");
  EXPECT_EQ(kind_of("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(kind_of("Tesla V100-SXM2-16GB"), "V100");
  EXPECT_EQ(kind_of("NVIDIA L40S"), "L40S");
  EXPECT_EQ(kind_of("NVIDIA GeForce RTX 4090"), "RTX4090");
  EXPECT_EQ(kind_of("NVIDIA GeForce RTX 3080 Laptop GPU"), "RTX3080");
  EXPECT_EQ(kind_of("NVIDIA GeForce GTX 1650 with Max-Q Design"), "GTX1650");
  EXPECT_EQ(kind_of("NVIDIA RTX 6000 Ada Generation"), "RTX6000ADA");
  EXPECT_EQ(kind_of("NVIDIA GH200 480GB"), "GH200");
  EXPECT_EQ(kind_of("NVIDIA"), "");
  EXPECT_EQ(kind_of(""), "");
}

TEST(DeviceKind, OfADeviceIsInItsName) {
  for (const char* name : {"NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB", "NVIDIA TITAN RTX",
                           "NVIDIA RTX 6000 Ada Generation", "NVIDIA T1000 8GB"}) {
    EXPECT_TRUE(is_of_kind(name, kind_of(name))) << name;
  }
}

}  // namespace
}  // namespace runnel::agent
