#include "home/local_devices.h"

#include <stdlib.h>

#include <iterator>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/device_look.h"
#include "env/files.h"
#include "env/machine.h"
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
    return shows(look_at(names));
  }
  static agent::DeviceLook look_at(const std::vector<std::string>& names) {
    agent::DeviceLook look;
    for (const std::string& name : names) {
      agent::SeenDevice seen;
      seen.index = std::ssize(look.devices);
      seen.id = "GPU-" + std::to_string(seen.index);
      seen.name = name;
      look.devices.push_back(std::move(seen));
    }
    return look;
  }
  std::vector<std::string> shows(const agent::DeviceLook& look) const {
    MUST(env::write_file_atomically(folder_.file("look"), agent::look_text(look)));
    return {"cat", folder_.file("look")};
  }
  DeviceCounts found(const std::vector<std::string>& command) const {
    MachineDevices devices = local_devices(home_, command, dev_);
    EXPECT_FALSE(devices.failed_look);
    return std::move(devices.counts);
  }
  std::optional<FailedLook> failed(const std::vector<std::string>& command) const {
    MachineDevices devices = local_devices(home_, command, dev_);
    EXPECT_EQ(devices.counts, DeviceCounts());
    return std::move(devices.failed_look);
  }
  void make_home() const { MUST(env::write_file_atomically(home_.version(), "1\n")); }
  void add_file(const std::string& name) const {
    MUST(env::write_file_atomically(dev_ + "/" + name, ""));
  }
  // As if the last look had been so long ago.
  void let_pass(Duration time) const {
    const std::string kept = MUST(env::read_file(home_.local_devices()));
    static const std::regex kAt(R"(("at"|"passing_since"):(\d+))");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(kept, found, kAt)) << kept;
    const std::string earlier = std::to_string(std::stoll(found[2]) - time.millis());
    MUST(env::write_file_atomically(home_.local_devices(),
                                    std::regex_replace(kept, kAt, "$1:" + earlier)));
  }

  const env::testing::TemporaryDirectory folder_;
  const Home home_{folder_.path()};
  const env::testing::TemporaryDirectory dev_folder_;
  const std::string dev_ = dev_folder_.path();
  const std::vector<std::string> nobody_{"false"};
};

TEST_F(LocalDevicesTest, AreCountedByTheirKind) {
  const auto three = shows({"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", "NVIDIA L4"});
  EXPECT_EQ(found(three), (DeviceCounts{{"H100", 2}, {"L4", 1}}));
}

TEST_F(LocalDevicesTest, AreLookedAtOncePerBoot) {
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}}));
  EXPECT_FALSE(env::exists(home_.local_devices())) << "the folder may not become a home";
  make_home();
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}}));
  EXPECT_EQ(found(nobody_), (DeviceCounts{{"L4", 1}}));
  const std::string kept = MUST(env::read_file(home_.local_devices()));
  MUST(env::write_file_atomically(home_.local_devices(), R"({"boot_id":"another"})"));
  EXPECT_TRUE(failed(nobody_));
  MUST(env::write_file_atomically(home_.local_devices(), kept));
  EXPECT_EQ(found(nobody_), (DeviceCounts{{"L4", 1}}));
}

TEST_F(LocalDevicesTest, AreKeptForWhatTheMachineShows) {
  make_home();
  add_file("nvidia0");
  add_file("nvidia1");
  EXPECT_EQ(found(shows({"NVIDIA L4", "NVIDIA L4"})), (DeviceCounts{{"L4", 2}}));
  add_file("nvidiactl");
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 2}})) << "that is no device";
  MUST(env::remove_file(dev_ + "/nvidia0"));
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}})) << "a container, say";
  add_file("nvidia0");
  EXPECT_EQ(found(shows({"NVIDIA L4", "NVIDIA L4"})), (DeviceCounts{{"L4", 2}})) << "the host";
}

TEST_F(LocalDevicesTest, AreAskedForAgainSoonWhereNoneWasFoundOrOneHasAFault) {
  make_home();
  agent::DeviceLook files = look_at({""});
  files.by = agent::DeviceLook::By::kFiles;
  agent::DeviceLook faulty = look_at({"NVIDIA L4", "NVIDIA L4"});
  faulty.devices.back().fault = "GPU is lost";
  for (const agent::DeviceLook& passing : {files, look_at({}), faulty}) {
    const DeviceCounts counts = found(shows(passing));
    EXPECT_EQ(found(shows({"NVIDIA L4", "NVIDIA L4"})), counts)
        << "a driver is not asked by each command";
    let_pass(kLookHolds);
  }
  EXPECT_EQ(found(shows({"NVIDIA L4", "NVIDIA L4"})), (DeviceCounts{{"L4", 2}}));
  EXPECT_EQ(found(nobody_), (DeviceCounts{{"L4", 2}})) << "for this boot";
  MUST(env::write_file_atomically(home_.local_devices(),
                                  R"({"boot_id":")" + MUST(env::boot_id()) + R"("})"));
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}})) << "none, of an older build";
}

TEST_F(LocalDevicesTest, AreNotAskedForWhileAFailedLookHolds) {
  EXPECT_TRUE(failed(nobody_));
  EXPECT_FALSE(env::exists(home_.local_devices())) << "the folder may not become a home";
  make_home();
  const auto first = failed(nobody_);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->why, "false failed with exit code 1");
  EXPECT_EQ(failed(shows({"NVIDIA L4"})), first);
  let_pass(kLookHolds - Duration::seconds(5));
  EXPECT_TRUE(failed(shows({"NVIDIA L4"})));
  let_pass(Duration::seconds(6));
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}}));
  EXPECT_EQ(found(nobody_), (DeviceCounts{{"L4", 1}})) << "kept instead of the failure";
}

TEST_F(LocalDevicesTest, AreAskedForByOneAloneWhenAFailedLookHoldsNoMore) {
  make_home();
  EXPECT_TRUE(failed(nobody_));
  let_pass(kLookHolds);
  const std::vector<std::string> shows_kept = {
      "sh", "-c", "cat " + home_.local_devices() + " > " + folder_.file("meanwhile")};
  EXPECT_TRUE(failed(shows_kept)) << "what it prints is no look";
  MUST(env::rename_file(folder_.file("meanwhile"), home_.local_devices()));
  EXPECT_EQ(failed(shows({"NVIDIA L4"}))->why, "false failed with exit code 1");
}

TEST_F(LocalDevicesTest, AreAskedForAgainWhenTheClockWentBack) {
  make_home();
  EXPECT_TRUE(failed(nobody_));
  let_pass(Duration::seconds(-3'600));
  EXPECT_EQ(found(shows({"NVIDIA L4"})), (DeviceCounts{{"L4", 1}}));
}

TEST_F(LocalDevicesTest, NoneAfterAFailedLookAreNotTheFailure) {
  make_home();
  EXPECT_TRUE(failed(nobody_));
  let_pass(kLookHolds);
  EXPECT_EQ(found(shows(look_at({}))), DeviceCounts());
  EXPECT_EQ(found(shows(look_at({}))), DeviceCounts());
}

TEST_F(LocalDevicesTest, AreNoneWhereTheDriverHasAnotherOrder) {
  const auto failure = failed(shows({"NVIDIA T400", "NVIDIA A100-SXM4-80GB", "NVIDIA T400"}));
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->why.find("in the order T400, A100, T400,"), std::string::npos) << failure->why;
  agent::DeviceLook listed = look_at({"NVIDIA T400", "NVIDIA A100-SXM4-80GB"});
  std::swap(listed.devices.front().index, listed.devices.back().index);
  EXPECT_EQ(found(shows(listed)), (DeviceCounts{{"A100", 1}, {"T400", 1}})) << "the index decides";
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
