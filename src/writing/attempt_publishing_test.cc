#include "writing/attempt_publishing.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "volume/condemned.h"
#include "volume/merge.h"
#include "volume/testing/disturbed_store.h"
#include "writing/refusal.h"
#include "writing/testing/branch_life.h"

namespace runnel::writing {
namespace {

using volume::testing::Contents;
using volume::testing::MemoryVolume;

// Attempts of a task, each with a log of its own.
class AttemptPublishingTest : public ::testing::Test {
 protected:
  using Begins = BranchPublishing::Begins;

  AttemptPublishingTest() { data_.put({{"base", "1"}}); }

  class Life : public testing::BranchLife {
   public:
    Life(testing::WritingMachine& machine, std::int64_t term, Begins how = Begins::kAnew)
        : BranchLife(machine, how) {
      begin([term](Parts parts) {
        AttemptPublishing::Options all;
        all.writing = {.name = "job.train.0", .term = term};
        all.publishing = parts.publishing;
        all.rebase = parts.rebase;
        all.lost = parts.lost;
        return std::make_unique<AttemptPublishing>(parts.loop, parts.volume, parts.branch,
                                                   std::move(all));
      });
    }
    // A file, which is published when it returns, as by a server that is stopped then.
    void publish(const std::string& name) {
      const std::int64_t before = publishes();
      make(name);
      commit(name);
      run_until([this, before] { return publishes() > before; });
    }

   private:
    std::int64_t publishes() {
      return volume().has_session() ? volume().session().session().record().publishes : 0;
    }
  };

  void remove_branches() {
    for (volume::SeenBranch& branch : data_.run(volume::see_branches(data_.volume()))) {
      data_.run(volume::remove_branch(data_.volume(), std::move(branch)));
    }
  }
  volume::SessionRecord seen() {
    data_.run(data_.volume().refresh());
    return data_.run(volume::find_branch(data_.volume(), "job.train.0")).record();
  }
  Contents published() {
    return data_.contents(data_.run(data_.volume().pinned_snapshot(seen().pin)));
  }
  Contents merged() {
    data_.run(volume::merge_branches(*data_.loop(), data_.volume(), {"job.train.0"},
                                     {"job.train", ""}, {}));
    data_.run(data_.volume().refresh());
    return data_.contents();
  }

  MemoryVolume data_;
  testing::WritingMachine first_{data_};
  testing::WritingMachine second_{data_};
};

TEST_F(AttemptPublishingTest, WhatIsWrittenIsInTheBranchAndSealedAtTheEnd) {
  {
    Life life(first_, 1);
    MUST(Result<void>(life.begun()));
    EXPECT_TRUE(life.shows("base"));
    life.publish("a");
  }
  EXPECT_EQ(published().at("a"), "bytes of a");
  EXPECT_FALSE(seen().sealed);
  Life next(first_, 1, Begins::kTakingOver);
  next.make("b");
  next.finish();
  EXPECT_TRUE(seen().sealed);
  EXPECT_EQ(data_.contents(), (Contents{{"base", "1"}})) << "nobody's version";
  EXPECT_EQ(merged(), (Contents{{"a", "bytes of a"}, {"b", "bytes of b"}, {"base", "1"}}));
}

TEST_F(AttemptPublishingTest, OneThatWritesNothingIsSealed) {
  Life life(first_, 1);
  life.finish();
  EXPECT_TRUE(seen().sealed);
  EXPECT_EQ(merged(), (Contents{{"base", "1"}}));
}

TEST_F(AttemptPublishingTest, TheNextServerGoesOnWithWhatWasNotPublished) {
  {
    Life life(first_, 1);
    life.make("a");
  }
  Life next(first_, 1, Begins::kTakingOver);
  MUST(Result<void>(next.begun()));
  EXPECT_TRUE(next.shows("a"));
  next.finish();
  EXPECT_EQ(published().at("a"), "bytes of a");
}

TEST_F(AttemptPublishingTest, TheNextAttemptGoesOnElsewhereAndTheOneBeforeHasLost) {
  {
    Life(first_, 1).publish("checkpoint");
  }
  Life before(first_, 1, Begins::kTakingOver);
  MUST(Result<void>(before.begun()));
  Life next(second_, 2);
  MUST(Result<void>(next.begun()));
  EXPECT_TRUE(next.shows("checkpoint"));
  before.make("late");
  before.commit("late");
  before.run_until([&before] { return before.has_said_lost(); });
  EXPECT_EQ(data_.try_run(before.publishing().publish_now()).error().code, Errc::kConflict);
  EXPECT_EQ(refusal_of(data_.try_run(before.publishing().room(5'000'000'000)).error()),
            Refusal::kReadOnly);
  next.make("result");
  next.finish();
  EXPECT_EQ(merged(), (Contents{{"base", "1"},
                                {"checkpoint", "bytes of checkpoint"},
                                {"result", "bytes of result"}}));
}

// Its server is started again where it was believed dead.
TEST_F(AttemptPublishingTest, AServerOfAnEarlierAttemptIsRefused) {
  {
    Life life(first_, 1);
    life.make("a");
  }
  Life next(second_, 2);
  for (const Begins how : {Begins::kAnew, Begins::kTakingOver}) {
    Life late(first_, 1, how);
    ASSERT_FALSE(late.begun().ok());
    EXPECT_EQ(late.begun().error().code, Errc::kConflict);
  }
  next.make("b");
  next.finish();
  EXPECT_EQ(published(), (Contents{{"b", "bytes of b"}, {"base", "1"}}));
}

TEST_F(AttemptPublishingTest, WhatBecameOfAPublishWithoutAnAnswerIsFoundOut) {
  constexpr int kPublish = 3;  // The session is made, and becomes a branch.
  for (const bool is_done : {true, false}) {
    SCOPED_TRACE(is_done);
    MemoryVolume data;
    volume::testing::UnheardStore store(data.store(), "data/s/", kPublish, is_done);
    testing::WritingMachine machine{.data = data, .store = &store};
    {
      Life life(machine, 1);
      MUST(Result<void>(life.begun()));
      life.publish("a");
      EXPECT_TRUE(life.shows("a"));
    }
    Life next(machine, 1, Begins::kTakingOver);
    MUST(Result<void>(next.begun()));
    next.make("b");
    next.finish();
    const auto branch = data.run(volume::find_branch(data.volume(), "job.train.0"));
    EXPECT_EQ(data.contents(data.run(data.volume().pinned_snapshot(branch.record().pin))),
              (Contents{{"a", "bytes of a"}, {"b", "bytes of b"}}));
    EXPECT_EQ(branch.record().publishes, 2) << "each once";
  }
}

TEST_F(AttemptPublishingTest, ALogThatFailsDuringAPublishBeginsAnew) {
  {
    Life life(first_, 1);
    first_.disk.fail_next_sync();
    life.publish("a");
    EXPECT_TRUE(life.shows("a"));
  }
  EXPECT_EQ(published(), (Contents{{"a", "bytes of a"}, {"base", "1"}}));
  Life next(first_, 1, Begins::kTakingOver);
  next.make("b");
  next.finish();
  EXPECT_EQ(merged(), (Contents{{"a", "bytes of a"}, {"b", "bytes of b"}, {"base", "1"}}));
}

// Its step has failed, or has been merged.
TEST_F(AttemptPublishingTest, AServerWhoseBranchWasRemovedMakesNone) {
  {
    const Life life(first_, 1);
  }
  remove_branches();
  Life late(first_, 1, Begins::kTakingOver);
  ASSERT_FALSE(late.begun().ok());
  EXPECT_EQ(late.begun().error().code, Errc::kConflict);
  EXPECT_TRUE(data_.run(volume::see_branches(data_.volume())).empty());
}

// Also where nobody serves it any more, and its rest is published.
TEST_F(AttemptPublishingTest, WhatIsInALogMakesNoBranchAnew) {
  {
    Life life(first_, 1);
    life.make("a");
    life.commit("a");
  }
  remove_branches();
  for (const Begins how : {Begins::kAnew, Begins::kTakingOver}) {
    Life late(first_, 1, how);
    ASSERT_FALSE(late.begun().ok());
    EXPECT_EQ(late.begun().error().code, Errc::kConflict);
  }
  EXPECT_TRUE(data_.run(volume::see_branches(data_.volume())).empty());
  Life next(second_, 2);
  MUST(Result<void>(next.begun()));
  next.make("b");
  next.finish();
  EXPECT_EQ(merged(), (Contents{{"b", "bytes of b"}, {"base", "1"}}));
}

// As one that stood still while gc worked twice beside a publish of its own.
TEST_F(AttemptPublishingTest, OneThatGcHasPassedOverGoesOn) {
  {
    Life(first_, 1).publish("a");
  }
  Life life(first_, 1, Begins::kTakingOver);
  data_.run(data_.volume().refresh());
  data_.run(data_.volume().change_head([](const volume::Head& now) {
    volume::Head next = now;
    next.collections += 2;
    next.condemned = volume::condemned_key("0123456789abcdef");
    next.swept = true;
    return Result<volume::Head>(next);
  }));
  life.publish("b");
  EXPECT_FALSE(life.has_said_lost());
  EXPECT_EQ(published(), (Contents{{"a", "bytes of a"}, {"b", "bytes of b"}, {"base", "1"}}));
}

}  // namespace
}  // namespace runnel::writing
