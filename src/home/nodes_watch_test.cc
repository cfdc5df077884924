#include "home/nodes_watch.h"

#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/device_look.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::home {
namespace {

constexpr const char* kTwo =
    "nodes: [{name: a, cpus: 1, memory: 1GB}, {name: b, cpus: 1, memory: 1GB}]\n";
constexpr const char* kOne = "nodes: [{name: a, cpus: 1, memory: 1GB}]\n";

class NodesWatchTest : public ::testing::Test {
 protected:
  NodesWatchTest() { write(kTwo); }
  void write(const char* text) { MUST(env::write_file_atomically(home_.nodes_file(), text)); }
  void remove() { MUST(env::remove_file(home_.nodes_file())); }
  void watch() { watch(read_nodes_in_force(home_, {})); }
  void watch(NodesInForce in_force) {
    watch_.emplace(*loop_, home_, device_command_, std::move(in_force),
                   [this](NodesInForce next) { changes_.push_back(std::move(next)); });
    MUST(loop_->spawn(gate_, watch_->run(gate_.token())));
  }
  // In the midst between two looks.
  void looks(double count) {
    const auto length = static_cast<std::int64_t>(count * 500);
    MUST(loop_->block_on(loop_->sleep(Duration::millis(length))));
  }
  void TearDown() override { MUST(loop_->block_on(gate_.close())); }

  env::testing::TemporaryDirectory folder_;
  Home home_{folder_.path()};
  std::vector<std::string> device_command_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  async::Gate gate_{*loop_};
  std::optional<NodesWatch> watch_;
  std::vector<NodesInForce> changes_;
};

TEST_F(NodesWatchTest, AFileThatIsGoneForAMomentOrHalfWrittenChangesNothing) {
  watch();
  looks(0.5);
  remove();
  looks(1);
  write(kOne);
  looks(1);
  write(kTwo);
  looks(3);
  EXPECT_TRUE(changes_.empty());
  EXPECT_FALSE(watch_->problem());
}

TEST_F(NodesWatchTest, AFileThatStandsStillIsTaken) {
  watch();
  write(kOne);
  looks(3.5);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_.front().nodes.size(), 1u);
  EXPECT_EQ(changes_.front().stamp, nodes_stamp(home_));
}

TEST_F(NodesWatchTest, AFileThatWentBeforeTheFirstLookIsMissed) {
  NodesInForce in_force = read_nodes_in_force(home_, {});
  remove();
  watch(std::move(in_force));
  looks(3.5);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_.front().nodes.front().id, NodeId("local"));
}

TEST_F(NodesWatchTest, AFileThatCannotBeLookedAtIsNotGone) {
  watch();
  remove();
  ASSERT_EQ(::symlink("nodes.yaml", home_.nodes_file().c_str()), 0);  // In circles: ELOOP.
  looks(3.5);
  EXPECT_TRUE(changes_.empty());
  EXPECT_TRUE(watch_->problem());
}

TEST_F(NodesWatchTest, AFileThatCouldNotBeUsedAtTheStartIsTakenWhenItIsMended) {
  write("nodes: [");
  NodesInForce in_force = read_nodes_in_force(home_, {});
  ASSERT_TRUE(in_force.problem);
  EXPECT_TRUE(in_force.nodes.empty());
  watch(std::move(in_force));
  looks(3.5);
  EXPECT_TRUE(watch_->problem());
  EXPECT_TRUE(changes_.empty());
  write(kOne);
  looks(3.5);
  EXPECT_FALSE(watch_->problem());
  ASSERT_EQ(changes_.size(), 1u);
}

TEST_F(NodesWatchTest, DevicesAreLookedForAgainWhenAFailedLookHoldsNoMore) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  remove();
  const std::string shown = folder_.path() + "/shown";
  device_command_ = {"cat", shown};
  NodesInForce in_force = read_nodes_in_force(home_, device_command_);
  ASSERT_TRUE(in_force.failed_look);
  ASSERT_FALSE(in_force.problem);
  agent::DeviceLook look;
  look.devices.resize(1);
  look.devices.front().name = "NVIDIA L4";
  MUST(env::write_file_atomically(shown, agent::look_text(look)));
  const Time now = env::real_clock().wall();
  in_force.failed_look->at = now + Duration::millis(1'250) - kLookHolds;
  watch(std::move(in_force));
  looks(1.5);
  EXPECT_TRUE(changes_.empty());
  EXPECT_TRUE(watch_->failed_look());
  looks(3);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_FALSE(changes_.front().failed_look);
  EXPECT_FALSE(watch_->failed_look());
  EXPECT_TRUE(changes_.front().nodes.front().capacity.accelerators.contains("L4"));
}

TEST_F(NodesWatchTest, OnlyNoSuchFileMeansNone) {
  const std::string file = folder_.path() + "/file";
  MUST(env::write_file_atomically(file, ""));
  const Home below_a_file{file};  // ENOTDIR.
  EXPECT_TRUE(nodes_stamp(below_a_file));
  EXPECT_TRUE(read_nodes_in_force(below_a_file, {}).problem);
  EXPECT_FALSE(nodes_stamp({folder_.path() + "/other"}));
}

}  // namespace
}  // namespace runnel::home
