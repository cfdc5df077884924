#include "agent/device_watch.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

// A machine whose driver says what a file holds.
class DeviceWatchTest : public ::testing::Test {
 protected:
  DeviceWatchTest() { have({0, 1}); }
  ~DeviceWatchTest() override {
    if (watch_) MUST(loop_->block_on(watch_->stop()));
  }

  static model::NodeInfo node(std::int64_t devices) {
    model::NodeInfo node;
    node.id = NodeId("gpu");
    if (devices > 0) node.capacity.accelerators["H100"] = devices;
    return node;
  }
  static DeviceLook look_of(const std::vector<int>& numbers) {
    DeviceLook look;
    for (const int number : numbers) {
      SeenDevice& seen = look.devices.emplace_back();
      seen.id = "GPU-" + std::to_string(number);
      seen.name = "NVIDIA H100";
      seen.index = number;
    }
    return look;
  }
  void say(const std::string& text) {
    MUST(env::write_file_atomically(home_.file("driver"), text, env::Access::kOwner));
  }
  void have(const std::vector<int>& numbers) { say(look_text(look_of(numbers))); }

  // As after a restart of the daemon.
  void begin(std::int64_t devices = 2, std::vector<std::string> command = {}) {
    if (watch_) MUST(loop_->block_on(watch_->stop()));
    if (command.empty()) command = {"/bin/cat", home_.file("driver")};
    watch_ = std::make_unique<DeviceWatch>(*loop_, env::real_clock(), std::move(command),
                                           home_.file("devices.json"), std::vector{node(devices)},
                                           [this](const NodeId& id, model::DeviceReport report) {
                                             EXPECT_EQ(id, NodeId("gpu"));
                                             told_.push_back(std::move(report));
                                           });
    MUST(watch_->start());
  }
  void look() { MUST(loop_->block_on(watch_->look_again({}))); }

  Async<void> ask(int* answered) {
    Result<void> looked = co_await watch_->look_again({});
    CO_TRY(std::move(looked));
    ++*answered;
    co_return {};
  }

  env::testing::TemporaryDirectory home_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  std::unique_ptr<DeviceWatch> watch_;
  std::vector<model::DeviceReport> told_;
};

TEST_F(DeviceWatchTest, TellsEachLookWhole) {
  begin();
  EXPECT_FALSE(watch_->watches()) << "nobody has looked yet";
  look();
  EXPECT_TRUE(watch_->watches());
  have({1});
  look();
  have({0, 1});
  look();
  ASSERT_EQ(told_.size(), 3U);
  EXPECT_TRUE(told_[0].missing.empty());
  ASSERT_EQ(told_[1].missing.size(), 1U);
  EXPECT_EQ(told_[1].missing[0].index, 0);
  EXPECT_TRUE(told_[2].missing.empty());
}

TEST_F(DeviceWatchTest, ALaterLifeKnowsWhichOneIsGone) {
  begin();
  look();
  have({1});
  begin();
  EXPECT_FALSE(watch_->report(NodeId("gpu")).has_value());
  look();
  ASSERT_TRUE(watch_->report(NodeId("gpu")).has_value());
  EXPECT_EQ(watch_->report(NodeId("gpu"))->missing.at(0).index, 0);
}

TEST_F(DeviceWatchTest, WhatTheDriverSaysInsteadIsToldAndNothingIsMissing) {
  begin();
  look();
  say(look_text({DeviceLook::By::kNvml, {}, "NVML does not start: Driver Not Loaded"}));
  look();
  EXPECT_EQ(told_.size(), 1U);
  ASSERT_EQ(watch_->notices().size(), 1U);
  EXPECT_NE(watch_->notices()[0].find("Driver Not Loaded"), std::string::npos);
  say("no look at all");
  look();
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(DeviceWatchTest, WhoAsksDuringALookGetsOneThatBeginsLater) {
  begin(2, {"/bin/sh", "-c",
            "echo x >> " + home_.file("looks") + "; sleep 0.2; cat " + home_.file("driver")});
  async::Gate gate(*loop_);
  int answered = 0;
  for (int each = 0; each < 20; ++each) MUST(loop_->spawn(gate, ask(&answered)));
  look();
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(answered, 20);
  EXPECT_LE(MUST(env::read_file(home_.file("looks"))).size(), 2 * 3U) << "twenty share a look";
}

TEST_F(DeviceWatchTest, WhereNothingIsDeclaredNobodyLooks) {
  begin(0, {"/bin/sh", "-c", "echo x >> " + home_.file("looks")});
  look();
  MUST(loop_->block_on(watch_->run({})));
  EXPECT_FALSE(env::exists(home_.file("looks")));
  EXPECT_FALSE(watch_->watches());
}

}  // namespace
}  // namespace runnel::agent
