#include "agent/device_look.h"

#include <sys/stat.h>

#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

class DeviceLookTest : public ::testing::Test {
 protected:
  // Makes something that is neither a file nor a folder, as a device is.
  void make_special(const std::string& name) {
    ASSERT_EQ(::mkfifo(dev_.file(name).c_str(), 0600), 0);
  }
  env::testing::TemporaryDirectory dev_;
};

// A machine that builds this has no driver.
TEST_F(DeviceLookTest, WithoutNvmlTheFilesOfDevicesCount) {
  for (const char* name : {"nvidia10", "nvidia2", "nvidia0", "nvidiactl", "nvidia-uvm", "nvidia",
                           "nvidia-1", "nvidia3x", "null"}) {
    make_special(name);
  }
  MUST(env::write_file_atomically(dev_.file("nvidia7"), "", env::Access::kOwner));
  const DeviceLook look = look_at_devices(Processes::kYes, dev_.path());
  if (look.by == DeviceLook::By::kNvml) GTEST_SKIP() << "NVML is installed here";
  ASSERT_EQ(look.devices.size(), 3U);
  EXPECT_EQ(look.devices[0].id, dev_.file("nvidia0"));
  EXPECT_EQ(look.devices[1].index, 2);
  EXPECT_EQ(look.devices[2].index, 10);
  EXPECT_TRUE(look.problem.empty());
}

TEST_F(DeviceLookTest, AFolderThatCannotBeReadIsAProblemAndNotAnEmptyMachine) {
  const DeviceLook look = look_at_devices(Processes::kYes, dev_.file("none"));
  if (look.by == DeviceLook::By::kNvml) GTEST_SKIP() << "NVML is installed here";
  EXPECT_FALSE(look.problem.empty());
}

TEST_F(DeviceLookTest, ComesBackAsItWas) {
  DeviceLook look;
  look.by = DeviceLook::By::kFiles;
  look.devices.resize(2);
  look.devices[0] = {"GPU-1", "NVIDIA H100", Bytes::gibi(80), 1, true, ""};
  look.devices[1].fault = "NVML: GPU is lost";
  look.processes = {{4'711, 87, Bytes::gibi(1)}};
  EXPECT_EQ(parse_look(look_text(look)).value(), look);
  EXPECT_FALSE(parse_look("{}x").ok());
  EXPECT_FALSE(parse_look(R"({"by":"luck"})").ok());
}

TEST_F(DeviceLookTest, AProcessThatHangsIsNamedAndLeftAlone) {
  const auto hung = look_in_process({"/bin/sleep", "60"}, Duration::millis(50));
  ASSERT_FALSE(hung.ok());
  EXPECT_EQ(hung.error().code, Errc::kTimeout);
  EXPECT_NE(hung.error().message.find("has not answered for"), std::string::npos);
}

TEST_F(DeviceLookTest, WhatTheDriverSaysInsteadIsTheError) {
  const std::string text = look_text({DeviceLook::By::kNvml, {}, "NVML does not start: no"});
  const auto said = look_in_process({"/bin/echo", text}, Duration::seconds(5));
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, Errc::kUnavailable);
  EXPECT_EQ(said.error().message, "NVML does not start: no");
  EXPECT_FALSE(look_in_process({"/bin/false"}, Duration::seconds(5)).ok()) << "it crashed";
}

}  // namespace
}  // namespace runnel::agent
