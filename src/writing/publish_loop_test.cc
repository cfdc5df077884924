#include "writing/publish_loop.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "env/clock.h"
#include "volume/session.h"
#include "volume/testing/disturbed_store.h"
#include "volume/testing/memory_volume.h"
#include "writing/testing/log_disk.h"

namespace runnel::writing {
namespace {

using volume::testing::MemoryVolume;

// Who writes files into the root of a volume, while a loop publishes them.
class PublishLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    data_.run(data_.volume().begin_writing(volume::session_of_this_process("mount")));
    branch_ = data_.run(Branch::open(
        *data_.loop(), {.files = disk_.open(), .owner = {"uuid", "main"}, .nonce = 7}, ""));
    publisher_ = std::make_unique<Publisher>(*data_.loop(), data_.volume(), *branch_);
  }
  void TearDown() override {
    end();
    data_.run(branch_->stop());
  }

  void begin(PublishLoop::Options options) {
    options.failed = [this](const Error& error) { failures_.push_back(error.to_string()); };
    publishing_ =
        std::make_unique<PublishLoop>(*data_.loop(), *branch_, *publisher_, std::move(options));
    MUST(data_.loop()->spawn(running_, publishing_->run(running_.token())));
  }
  void end() {
    if (!publishing_) return;
    data_.run(running_.close());
    publishing_->end();
  }
  void change(Change what) { MUST(branch_->change({.request = {}, .change = std::move(what)})); }
  void write(const std::string& name, const std::string& bytes) {
    const Inode file = ++last_;
    const bool has_root = branch_->overlay().find(volume::kRootInode) != nullptr;
    if (!has_root) {  // A publish forgets what the base has.
      change(Adopt{.inode = volume::kRootInode, .kind = volume::NodeKind::kFolder, .mode = 0755});
    }
    change(Create{
        .at = {volume::kRootInode, name}, .inode = file, .mode = 0644, .target = "", .when = {}});
    for (std::size_t at = 0; at < bytes.size(); at += Write::kBytesMax) {
      change(Write{file, at, {}, bytes.substr(at, Write::kBytesMax)});
    }
    change(Commit{file});
  }
  // Waits for it; a loop that does nothing would wait for ever.
  void wait_until(const std::function<bool()>& is_so) {
    for (int tries = 0; tries < 2'000 && !is_so(); ++tries) {
      data_.run(data_.loop()->sleep(Duration::millis(5)));
    }
    EXPECT_TRUE(is_so());
  }
  Async<void> wait_for_room(bool& has_room) {
    CO_TRY(co_await publishing_->room(1));
    has_room = true;
    co_return {};
  }
  std::size_t versions() { return data_.volume().head().recent.size(); }

  MemoryVolume data_;
  testing::LogDisk disk_;
  std::unique_ptr<Branch> branch_;
  std::unique_ptr<Publisher> publisher_;
  async::Gate running_{*data_.loop()};
  std::unique_ptr<PublishLoop> publishing_;
  std::vector<std::string> failures_;
  Inode last_ = 100;
};

TEST_F(PublishLoopTest, WhatIsWrittenIsPublishedWithinItsTime) {
  begin({.every = Duration::millis(20)});
  write("a", "bytes");
  wait_until([this] { return versions() == 1; });
  EXPECT_EQ(data_.contents().at("a"), "bytes");
  data_.run(data_.loop()->sleep(Duration::millis(100)));
  EXPECT_EQ(versions(), 1U) << "nothing was changed since";
}

TEST_F(PublishLoopTest, WhoAsksHasTheVersionThatHasAllOfIt) {
  begin({.every = Duration::seconds(3'600)});
  write("a", "bytes");
  const std::string version = data_.run(publishing_->publish_now());
  EXPECT_EQ(version, data_.newest().version);
  EXPECT_EQ(data_.contents().at("a"), "bytes");
  EXPECT_EQ(data_.run(publishing_->publish_now()), version) << "nothing was changed since";
}

TEST_F(PublishLoopTest, AtHalfOfItsCapALogIsPublishedAtOnceAndBeginsAnew) {
  begin({.every = Duration::seconds(3'600), .log_max = Bytes::mebi(4), .log_kept = Bytes::mebi(3)});
  data_.run(data_.loop()->sleep(Duration::millis(20)));
  for (int number = 0; number < 8; ++number) {
    write(std::to_string(number), std::string(1 << 20, 'x'));
    data_.run(publishing_->room(1 << 20));
  }
  EXPECT_GE(versions(), 1U);
  EXPECT_LT(branch_->log_bytes(), 4U << 20);
  EXPECT_TRUE(failures_.empty());
}

TEST_F(PublishLoopTest, ALogThatHasFailedBeginsAnew) {
  begin({.every = Duration::millis(20)});
  disk_.fail_next_write();
  write("a", "bytes");
  EXPECT_FALSE(data_.try_run(branch_->written(branch_->last())).ok());
  wait_until([this] { return !branch_->has_failed(); });
  disk_.heal();
  wait_until([this] { return versions() == 1; });
  EXPECT_EQ(data_.contents().at("a"), "bytes");
}

// Also while somebody waits for room.
TEST_F(PublishLoopTest, WhatTheStoreRefusesIsTriedAgainAtItsTime) {
  volume::testing::RefusingStore store(data_.store());
  volume::Volume volume = data_.run(
      volume::Volume::open({store, env::real_clock(), data_.random(), {}}, data_.volume().name()));
  data_.run(volume.begin_writing(volume::session_of_this_process("mount")));
  publisher_ = std::make_unique<Publisher>(*data_.loop(), volume, *branch_);
  begin({.every = Duration::millis(100), .log_max = Bytes::mebi(2), .log_kept = Bytes::mebi(1)});
  store.refuses = true;
  write("a", std::string(3 << 20, 'x'));
  bool has_room = false;
  MUST(data_.loop()->spawn(running_, wait_for_room(has_room)));
  const Duration began = env::real_clock().boot();
  wait_until([this] { return failures_.size() >= 3; });
  EXPECT_GE(env::real_clock().boot() - began, Duration::millis(200)) << "tried at once again";
  EXPECT_FALSE(has_room);
  store.refuses = false;
  wait_until([&has_room] { return has_room; });
  EXPECT_LT(branch_->log_bytes(), 2U << 20);
  end();
  data_.run(volume.end_session());
}

TEST_F(PublishLoopTest, WhoWaitsIsLetGoOnceNobodyPublishes) {
  begin({.every = Duration::seconds(3'600), .log_max = Bytes::mebi(1), .log_kept = Bytes::kibi(1)});
  data_.run(running_.close());
  publishing_->end();
  EXPECT_EQ(data_.try_run(publishing_->publish_now()).error().code, Errc::kCancelled);
  EXPECT_EQ(data_.try_run(publishing_->room(2 << 20)).error().code, Errc::kCancelled);
}

}  // namespace
}  // namespace runnel::writing
