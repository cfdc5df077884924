#include "home/local_devices.h"

#include <stdlib.h>

#include <gtest/gtest.h>

#include "agent/device_look.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::home {
namespace {

class LocalDevicesTest : public ::testing::Test {
 protected:
  LocalDevicesTest() {
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    ::unsetenv("RUNNEL_API");
  }
  ~LocalDevicesTest() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }

  // A command that prints a look at devices of these names.
  std::vector<std::string> shows(const std::vector<std::string>& names) const {
    agent::DeviceLook look;
    for (const std::string& name : names) {
      agent::SeenDevice seen;
      seen.id = "GPU-" + std::to_string(look.devices.size());
      seen.name = name;
      look.devices.push_back(std::move(seen));
    }
    MUST(env::write_file_atomically(folder_.file("look"), agent::look_text(look)));
    return {"cat", folder_.file("look")};
  }
  DeviceCounts found(const std::vector<std::string>& command) const {
    return MUST(local_devices(home_, command));
  }

  const env::testing::TemporaryDirectory folder_;
  const Home home_{folder_.path()};
  const std::vector<std::string> nobody_{"false"};
};

TEST_F(LocalDevicesTest, AreCountedByTheirKind) {
  const auto three = shows({"NVIDIA H100 80GB HBM3", "NVIDIA L4", "NVIDIA H100 80GB HBM3"});
  EXPECT_EQ(found(three), (DeviceCounts{{"H100", 2}, {"L4", 1}}));
}

TEST_F(LocalDevicesTest, AreLookedAtOncePerBoot) {
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}}));
  EXPECT_FALSE(env::exists(home_.local_devices())) << "the folder may not become a home";
  MUST(env::write_file_atomically(home_.version(), "1\n"));
  EXPECT_FALSE(local_devices(home_, nobody_).ok()) << "a driver without an answer is no answer";
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}}));
  EXPECT_EQ(found(nobody_), (DeviceCounts{{"L4", 1}}));
  const std::string kept = MUST(env::read_file(home_.local_devices()));
  MUST(env::write_file_atomically(home_.local_devices(), R"({"boot_id":"another"})"));
  EXPECT_FALSE(local_devices(home_, nobody_).ok());
  MUST(env::write_file_atomically(home_.local_devices(), kept));
  EXPECT_EQ(found(nobody_), (DeviceCounts{{"L4", 1}}));
}

TEST_F(LocalDevicesTest, AreNoneWhereAShellShowsSomeOfThem) {
  ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  EXPECT_EQ(found(shows({"NVIDIA L4"})), DeviceCounts());
  ::setenv("RUNNEL_API", "unix:/x", 1);
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}})) << "a task hides them only";
  ::unsetenv("RUNNEL_API");
}

TEST_F(LocalDevicesTest, OfNoNameAreOfNoKind) {
  EXPECT_EQ(found(shows({"", "NVIDIA"})), DeviceCounts());
  EXPECT_EQ(found({}), DeviceCounts()) << "nobody is asked";
}

}  // namespace
}  // namespace runnel::home
