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
#include "writing/testing/branch_life.h"

namespace runnel::writing {
namespace {

using volume::kRootInode;
using volume::testing::MemoryVolume;

// A mount that writes files into the root of a volume, in one life after another.
class LeasedPublishingTest : public ::testing::Test {
 protected:
  using Begins = LeasedPublishing::Begins;

  // A life of the mount.
  class Life : public testing::BranchLife {
   public:
    Life(LeasedPublishingTest& test, Begins how) : BranchLife(test.machine_, how) {
      begin([this](Parts parts) {
        LeasedPublishing::Options all{.clock = env::real_clock(), .source = "/mnt"};
        all.publishing = parts.publishing;
        all.rebase = parts.rebase;
        all.lost = parts.lost;
        all.recovered = [this](const std::string& version) { recovered_.push_back(version); };
        return std::make_unique<LeasedPublishing>(parts.loop, parts.volume, parts.branch,
                                                  std::move(all));
      });
    }
    const std::vector<std::string>& recovered() const { return recovered_; }

   private:
    std::vector<std::string> recovered_;
  };

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
  testing::WritingMachine machine_{data_};
};

TEST_F(LeasedPublishingTest, AMountPublishesAndLeavesNothing) {
  Life life(*this, Begins::kAnew);
  MUST(Result<void>(life.begun()));
  EXPECT_FALSE(head().lease.session.empty());
  life.make("a");
  life.finish();
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
  next.finish();
  EXPECT_EQ(content("a"), "bytes of a");
}

TEST_F(LeasedPublishingTest, OneThatWasTakenForDeadGoesOnWhereNobodyElseWrites) {
  Life life(*this, Begins::kAnew);
  const std::int64_t epoch = head().lease.epoch;
  take_for_dead(life);
  take_and_release();
  life.make("a");
  life.commit("a");
  life.run_until([&life] { return life.volume().head().newest() != nullptr; });
  EXPECT_EQ(content("a"), "bytes of a");
  EXPECT_FALSE(life.has_said_lost());
  EXPECT_GT(head().lease.epoch, epoch);
}

TEST_F(LeasedPublishingTest, OneWhoseVolumeWasWrittenToMeanwhileHasLostAndDropsNothing) {
  Life life(*this, Begins::kAnew);
  life.make("mine");
  take_for_dead(life);
  data_.put({{"theirs", "1"}});
  life.run_until([&life] { return !life.recovered().empty(); });
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
  life.run_until([&life] { return !life.recovered().empty(); });
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
  next.finish();
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
