#include "writing/leased_publishing.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/together.h"
#include "env/clock.h"
#include "volume/lease.h"
#include "volume/testing/memory_volume.h"
#include "volume/testing/named_processes.h"
#include "writing/branch_files.h"
#include "writing/testing/log_disk.h"
#include "writing/testing/snapshot_base.h"

namespace runnel::writing {
namespace {

using volume::kRootInode;
using volume::testing::MemoryVolume;

// A mount that writes files into the root of a volume, in one life after another.
class LeasedPublishingTest : public ::testing::Test {
 protected:
  using Begins = LeasedPublishing::Begins;

  // A life, which is over without a word unless it is to end as a mount does.
  class Life {
   public:
    Life(LeasedPublishingTest& test, Begins how)
        : test_(test),
          pid_(++test.processes_.pid),
          volume_(std::make_unique<volume::Volume>(test.data_.run(open()))) {
      const volume::VersionPlace* const newest = volume_->head().newest();
      branch_ = test.data_.run(Branch::open(
          *test.data_.loop(), {.files = test.disk_.open(), .owner = {"uuid", "main"}, .nonce = 7},
          newest == nullptr ? "" : newest->version));
      publishing_ =
          std::make_unique<LeasedPublishing>(*test.data_.loop(), *volume_, *branch_, options());
      begun_ = test.data_.try_run(publishing_->begin(how, {}));
      if (!begun_.ok()) return;
      const std::string version = *branch_->overlay().base();
      const volume::Snapshot base =
          version.empty() ? volume_->empty_snapshot() : test.data_.run(volume_->snapshot(version));
      files_.emplace(*branch_, testing::base_of(*volume_, base.manifest()),
                     [] { return Moment(); });
    }
    ~Life() {
      test_.data_.run(branch_->stop());
      test_.processes_.ended.insert(pid_);
    }
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;

    void make(const std::string& name) {
      const FileFound made =
          test_.data_.run(files_->create({}, {kRootInode, name}, {.target = ""}));
      test_.data_.run(files_->write(made.inode, 0, "bytes of " + name));
      test_.data_.run(branch_->written(branch_->last()));
    }
    void commit(const std::string& name) {
      const auto found = test_.data_.run(files_->look_up(kRootInode, name));
      test_.data_.run(files_->commit(found->inode));
    }
    bool shows(const std::string& name) {
      return test_.data_.run(files_->look_up(kRootInode, name)).has_value();
    }
    LeasedPublishing& publishing() { return *publishing_; }
    const Result<void>& begun() const { return begun_; }
    const std::vector<std::string>& recovered() const { return recovered_; }
    bool has_said_lost() const { return has_said_lost_; }
    volume::Volume& volume() { return *volume_; }

   private:
    Async<volume::Volume> open() {
      MemoryVolume& data = test_.data_;
      return volume::Volume::open(
          {data.store(), env::real_clock(), data.random(), {}, nullptr, test_.processes_}, "data");
    }
    LeasedPublishing::Options options() {
      LeasedPublishing::Options all{.clock = env::real_clock(), .source = "/mnt"};
      all.publishing.every = Duration::millis(20);
      all.rebase = [this](const volume::Manifest& manifest) {
        if (files_) files_->rebase(testing::base_of(*volume_, manifest));
      };
      all.lost = [this] { has_said_lost_ = true; };
      all.recovered = [this](const std::string& version) { recovered_.push_back(version); };
      return all;
    }

    LeasedPublishingTest& test_;
    const std::int64_t pid_;
    std::unique_ptr<volume::Volume> volume_;
    std::unique_ptr<Branch> branch_;
    std::unique_ptr<LeasedPublishing> publishing_;
    std::optional<BranchFiles> files_;
    Result<void> begun_;
    std::vector<std::string> recovered_;
    bool has_said_lost_ = false;
  };

  void finish(Life& life) {
    life.publishing().finish();
    data_.run(life.publishing().run({}));
  }
  // While a life publishes, until `is_so`.
  void run_until(Life& life, const std::function<bool()>& is_so) {
    std::vector<async::Stoppable<void>> both;
    both.push_back([&](async::StopToken stop) { return life.publishing().run(std::move(stop)); });
    both.push_back([&](async::StopToken) { return wait(is_so); });
    const auto first = data_.run(async::race<void>(*data_.loop(), std::move(both)));
    EXPECT_EQ(first.winner, 1U) << first.result.error().to_string();
  }
  Async<void> wait(std::function<bool()> is_so) {
    for (int tries = 0; tries < 2'000 && !is_so(); ++tries) {
      CO_TRY(co_await data_.loop()->sleep(Duration::millis(5)));
    }
    EXPECT_TRUE(is_so());
    co_return {};
  }
  Async<void> beat(volume::Volume& volume, async::StopToken stop) {
    while ((co_await data_.loop()->sleep(Duration::millis(300), stop)).ok()) {
      CO_TRY(co_await volume.keep_session([] { return std::set<std::string>(); }));
    }
    co_return {};
  }
  // Somebody else is about to write, and does not.
  void take_and_release() {
    volume::Volume& other = data_.volume();
    data_.run(other.begin_writing(other.processes().this_one("mount")));
    data_.run(volume::take_lease(*data_.loop(), env::real_clock(), other, {}));
    data_.run(volume::release_lease(other));
    data_.run(other.end_session());
  }
  // What somebody does who takes the mount's session for dead.
  void take_for_dead(Life& life) {
    data_.run(data_.volume().refresh());
    data_.run(data_.volume().store().remove(life.volume().session().session().key(), {}));
  }
  std::string content(const std::string& path) { return contents().at(path); }
  volume::testing::Contents contents(const std::string& version = "latest") {
    (void)head();
    return data_.contents(version);
  }
  volume::Head head() {
    data_.run(data_.volume().refresh());
    return data_.volume().head();
  }

  MemoryVolume data_;
  volume::testing::NamedProcesses processes_;
  testing::LogDisk disk_;
};

TEST_F(LeasedPublishingTest, AMountPublishesAndLeavesNothing) {
  Life life(*this, Begins::kAnew);
  MUST(Result<void>(life.begun()));
  EXPECT_FALSE(head().lease.session.empty());
  life.make("a");
  finish(life);
  EXPECT_EQ(content("a"), "bytes of a");
  EXPECT_TRUE(head().lease.session.empty());
  EXPECT_EQ(data_.objects("s/"), 0);
}

TEST_F(LeasedPublishingTest, TheNextLifeGoesOnWithWhatWasNotPublished) {
  {
    Life life(*this, Begins::kAnew);
    life.make("a");
  }
  Life next(*this, Begins::kAnew);
  EXPECT_TRUE(next.shows("a"));
  finish(next);
  EXPECT_EQ(content("a"), "bytes of a");
}

TEST_F(LeasedPublishingTest, OneThatWasTakenForDeadGoesOnWhereNobodyElseWrites) {
  Life life(*this, Begins::kAnew);
  const std::int64_t epoch = head().lease.epoch;
  take_for_dead(life);
  take_and_release();
  life.make("a");
  life.commit("a");
  run_until(life, [&life] { return life.volume().head().newest() != nullptr; });
  EXPECT_EQ(content("a"), "bytes of a");
  EXPECT_FALSE(life.has_said_lost());
  EXPECT_GT(head().lease.epoch, epoch);
}

TEST_F(LeasedPublishingTest, OneWhoseVolumeWasWrittenToMeanwhileHasLostAndDropsNothing) {
  Life life(*this, Begins::kAnew);
  life.make("mine");
  take_for_dead(life);
  data_.put({{"theirs", "1"}});
  run_until(life, [&life] { return !life.recovered().empty(); });
  EXPECT_TRUE(life.has_said_lost());
  EXPECT_EQ(life.recovered(), std::vector<std::string>{"data@recovered-2"});
  EXPECT_EQ(contents("recovered-2"), (volume::testing::Contents{{"mine", "bytes of mine"}}))
      << "on the version that it goes on from";
  EXPECT_EQ(contents(), (volume::testing::Contents{{"theirs", "1"}}));
  EXPECT_TRUE(life.shows("mine")) << "who has it open reads on";
  EXPECT_EQ(data_.try_run(life.publishing().publish_now()).error().code, Errc::kConflict);
  EXPECT_TRUE(head().lease.session.empty());
}

TEST_F(LeasedPublishingTest, ATagThatIsThereStaysWhatItIs) {
  Life life(*this, Begins::kAnew);
  life.make("mine");
  take_for_dead(life);
  data_.put({{"theirs", "1"}});
  data_.run(data_.volume().change_head([](const volume::Head& now) {
    volume::Head next = now;
    next.tags["recovered-2"] = *now.newest();
    return Result<volume::Head>(next);
  }));
  run_until(life, [&life] { return !life.recovered().empty(); });
  EXPECT_EQ(life.recovered(), std::vector<std::string>{"data@recovered-2-2"});
  EXPECT_EQ(contents("recovered-2"), (volume::testing::Contents{{"theirs", "1"}}));
  EXPECT_EQ(contents("recovered-2-2"), (volume::testing::Contents{{"mine", "bytes of mine"}}));
}

TEST_F(LeasedPublishingTest, AMountOnALogThatTheNewestVersionHasLeftBehindSetsItAside) {
  {
    Life life(*this, Begins::kAnew);
    life.make("mine");
    take_for_dead(life);
  }
  data_.put({{"theirs", "1"}});
  Life next(*this, Begins::kAnew);
  MUST(Result<void>(next.begun()));
  EXPECT_EQ(next.recovered().size(), 1U);
  EXPECT_FALSE(next.publishing().has_lost());
  EXPECT_TRUE(next.shows("theirs"));
  EXPECT_FALSE(next.shows("mine"));
  next.make("more");
  finish(next);
  EXPECT_EQ(contents(), (volume::testing::Contents{{"more", "bytes of more"}, {"theirs", "1"}}));
  EXPECT_EQ(contents("recovered-2"), (volume::testing::Contents{{"mine", "bytes of mine"}}));
}

// As a machine beats that this one cannot see into.
TEST_F(LeasedPublishingTest, AMountIsRefusedWhileAnotherLives) {
  volume::Volume& other = data_.volume();
  data_.run(other.begin_writing(other.processes().this_one("mount")));
  data_.run(volume::take_lease(*data_.loop(), env::real_clock(), other, {}));
  async::Gate beating(*data_.loop());
  MUST(data_.loop()->spawn(beating, beat(other, beating.token())));
  {
    Life refused(*this, Begins::kAnew);
    ASSERT_FALSE(refused.begun().ok());
    EXPECT_EQ(refused.begun().error().code, Errc::kConflict);
    EXPECT_FALSE(refused.has_said_lost()) << "it has never begun";
  }
  Life taken_over(*this, Begins::kTakingOver);
  MUST(Result<void>(taken_over.begun()));
  EXPECT_TRUE(taken_over.publishing().has_lost());
  data_.run(beating.close());
  EXPECT_EQ(head().lease.epoch, 1);
  data_.run(volume::release_lease(other));
  data_.run(other.end_session());
}

// By 64 versions of somebody else.
TEST_F(LeasedPublishingTest, WithoutItsVersionALogStaysAsItIs) {
  data_.put({{"base", "1"}});
  const std::string base = data_.newest().version;
  {
    Life life(*this, Begins::kAnew);
    life.make("mine");
    take_for_dead(life);
  }
  data_.put({{"theirs", "1"}});
  data_.run(data_.volume().change_head([&base](const volume::Head& now) {
    volume::Head next = now;
    std::erase_if(next.recent, [&](const auto& place) { return place.version == base; });
    return Result<volume::Head>(next);
  }));
  for (int tries = 0; tries < 2; ++tries) {
    Life next(*this, Begins::kAnew);
    ASSERT_FALSE(next.begun().ok());
    EXPECT_EQ(next.begun().error().code, Errc::kNotFound);
    EXPECT_NE(next.begun().error().message.find(base), std::string::npos)
        << next.begun().error().message;
  }
  EXPECT_EQ(contents().size(), 2U);
}

TEST_F(LeasedPublishingTest, AServerThatTakesAMountOverWhichHasLostShowsItsFilesAndNoOthers) {
  {
    Life life(*this, Begins::kAnew);
    life.make("mine");
    take_for_dead(life);
  }
  data_.put({{"theirs", "1"}});
  Life next(*this, Begins::kTakingOver);
  MUST(Result<void>(next.begun()));
  EXPECT_TRUE(next.publishing().has_lost());
  EXPECT_TRUE(next.has_said_lost());
  EXPECT_TRUE(next.shows("mine"));
  EXPECT_FALSE(next.shows("theirs")) << "the kernel has the files of the mount";
  EXPECT_EQ(next.recovered().size(), 1U);
}

}  // namespace
}  // namespace runnel::writing
