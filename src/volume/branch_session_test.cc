#include "volume/branch_session.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/together.h"
#include "object/forwarding_store.h"
#include "volume/condemned.h"
#include "volume/delete.h"
#include "volume/fsck.h"
#include "volume/gc.h"
#include "volume/testing/branch_writer.h"
#include "volume/testing/disturbed_store.h"
#include "volume/testing/named_processes.h"

namespace runnel::volume {
namespace {

using testing::BranchWriter;
using testing::Contents;
using testing::MemoryVolume;
using testing::NamedProcesses;

class BranchSessionTest : public ::testing::Test {
 protected:
  BranchSessionTest() { data_.put({{"base", "1"}, {"folder/below", "2"}}); }

  BranchWriter begin(const std::string& name = "job.train.0", std::int64_t term = 1) {
    ++processes_.pid;
    return {data_, name, processes_, term};
  }
  Async<void> begin_beside(std::string name) {
    VolumeContext context{data_.store(), env::real_clock(), data_.random(), {}};
    Volume volume = CO_TRY(co_await Volume::open(context, "data"));
    CO_TRY(co_await begin_branch(volume, {.name = std::move(name), .term = 1}));
    co_return co_await volume.end_session();
  }
  Error no_branch(BranchWriting writing) {
    return data_.try_run(begin_branch(data_.volume(), std::move(writing))).error();
  }
  // All processes have ended, as far as gc can tell, twice.
  void collect() {
    for (std::int64_t pid = 1; pid <= processes_.pid; ++pid) processes_.ended.insert(pid);
    for (int times = 0; times < 2; ++times) {
      VolumeContext context{data_.store(), env::real_clock(), data_.random(), {}};
      VolumeContext named{context.store,  context.clock, context.random, {},
                          context.others, processes_,    context.memory};
      Volume volume = data_.run(Volume::open(named, "data"));
      data_.run(collect_garbage(*data_.loop(), env::real_clock(), volume,
                                {.keep = Duration(), .wait = false}, {}));
    }
    data_.run(data_.volume().refresh());
  }
  std::vector<SeenBranch> seen() { return data_.run(see_branches(data_.volume())); }
  Contents contents_of(const SeenBranch& branch) {
    return data_.contents(data_.run(data_.volume().pinned_snapshot(branch.record().pin)));
  }

  MemoryVolume data_;
  NamedProcesses processes_;
};

TEST_F(BranchSessionTest, WhatIsWrittenIsNobodysVersion) {
  BranchWriter writer = begin();
  EXPECT_EQ(writer.contents(), (Contents{{"base", "1"}, {"folder/below", "2"}}));
  writer.write("folder/new", "3");
  writer.remove("base");
  writer.publish();
  EXPECT_EQ(writer.contents(), (Contents{{"folder/below", "2"}, {"folder/new", "3"}}));
  data_.run(data_.volume().refresh());
  EXPECT_EQ(data_.contents(), (Contents{{"base", "1"}, {"folder/below", "2"}}));
  EXPECT_TRUE(data_.volume().head().has_feature(kBranches)) << "earlier builds know none";
}

TEST_F(BranchSessionTest, OfAnEmptyVolume) {
  MemoryVolume empty;
  BranchWriter writer(empty, "job.train.0");
  EXPECT_EQ(writer.contents(), Contents());
  writer.write("a/b", "1");
  writer.publish();
  empty.run(collect_garbage(*empty.loop(), env::real_clock(), empty.volume(), {.wait = false}, {}));
  EXPECT_EQ(writer.contents(), (Contents{{"a/b", "1"}}));
}

// Two gcs that see it between its publishes, of which the later one has seen nothing of the last.
TEST_F(BranchSessionTest, NoListOfGarbagePassesOverIt) {
  BranchWriter writer = begin();
  for (int round = 0; round < 3; ++round) {
    writer.write("file", std::to_string(round));
    writer.publish();
    data_.run(data_.volume().refresh());
    // What a gc condemns that began before this publish, and lists nobody.
    data_.run(data_.volume().change_head([](const Head& now) -> Result<Head> {
      Head next = now;
      next.collections += 2;
      next.condemned = condemned_key("0123456789abcdef");
      next.swept = true;
      return next;
    }));
  }
  EXPECT_TRUE(writer.try_beat().ok());
  collect();
  EXPECT_EQ(writer.contents().at("file"), "2");
}

// Neither its process nor gc takes it away, nor what its base had.
TEST_F(BranchSessionTest, ItOutlivesItsProcess) {
  begin().publish();
  BranchWriter writer = begin("job.train.1");
  writer.write("checkpoint", "3");
  writer.publish();
  data_.put({{"base", "newer"}});
  data_.put({{"base", "newest"}});
  data_.run(data_.volume().end_session());
  collect();
  const std::vector<SeenBranch> branches = seen();
  ASSERT_EQ(branches.size(), 2U);
  EXPECT_EQ(branches[0].name(), "job.train.0");
  EXPECT_EQ(branches[1].record().publishes, 1);
  EXPECT_FALSE(branches[1].record().sealed);
  EXPECT_EQ(contents_of(branches[1]),
            (Contents{{"base", "1"}, {"checkpoint", "3"}, {"folder/below", "2"}}));
  Snapshot base = data_.run(data_.volume().pinned_snapshot(branches[1].record().base));
  EXPECT_EQ(data_.contents(base), (Contents{{"base", "1"}, {"folder/below", "2"}}));
}

TEST_F(BranchSessionTest, TheNextAttemptGoesOnAndTheOneBeforeIsRefused) {
  BranchWriter first = begin();
  first.write("checkpoint", "3");
  first.publish();
  BranchWriter second = begin("job.train.0", 2);
  EXPECT_EQ(second.contents().at("checkpoint"), "3");
  EXPECT_EQ(no_branch({.name = "job.train.0", .term = 1}).code, Errc::kConflict) << "a late one";
  ASSERT_EQ(seen().size(), 1U);
  first.write("checkpoint", "late");
  EXPECT_EQ(first.try_publish().error().code, Errc::kConflict);
  EXPECT_EQ(first.try_beat().error().code, Errc::kConflict);
  second.write("result", "4");
  second.seal();
  EXPECT_TRUE(seen().front().record().sealed);
  EXPECT_EQ(seen().front().record().publishes, 2);
  collect();
  EXPECT_EQ(contents_of(seen().front()),
            (Contents{{"base", "1"}, {"checkpoint", "3"}, {"folder/below", "2"}, {"result", "4"}}));
}

// What a failed attempt has written is nothing to the next one.
TEST_F(BranchSessionTest, ALaterTermMayBeginWithTheBase) {
  BranchWriter first = begin();
  first.write("left", "3");
  first.publish();
  data_.put({{"later", "4"}});
  const auto go_on = [this](std::int64_t term) {
    VolumeContext context{data_.store(), env::real_clock(), data_.random(), {}};
    Volume volume = data_.run(Volume::open(context, "data"));
    data_.run(begin_branch(volume, {.name = "job.train.0", .term = term, .from_base = true}));
    data_.run(volume.end_session());
  };
  go_on(1);
  EXPECT_TRUE(contents_of(seen().at(0)).contains("left")) << "of the same term";
  go_on(2);
  const Contents contents = contents_of(seen().at(0));
  EXPECT_FALSE(contents.contains("left"));
  EXPECT_FALSE(contents.contains("later")) << "it has the base of the first one still";
  EXPECT_TRUE(contents.contains("base"));
  EXPECT_EQ(first.try_publish().error().code, Errc::kConflict);
}

// Both see that there is none.
TEST_F(BranchSessionTest, OfTwoThatMakeItAtOnceOneGoesOnWithTheOther) {
  for (int put = 1; put <= 3; ++put) {
    SCOPED_TRACE(put);
    const std::string name = "task-" + std::to_string(put);
    testing::BusyStore busy(
        data_.store(), "data/s/", [this, name] { return begin_beside(name); }, put);
    Volume volume = data_.run(Volume::open({busy, env::real_clock(), data_.random(), {}}, "data"));
    data_.run(begin_branch(volume, {.name = name, .term = 2}));
    EXPECT_EQ(data_.run(find_branch(data_.volume(), name)).record().term, 2);
    data_.run(volume.end_session());
  }
  EXPECT_EQ(seen().size(), 3U);
  EXPECT_EQ(data_.objects("s/"), 3) << "nothing is left of others";
}

// By a late request, when gc has taken what it pins.
TEST_F(BranchSessionTest, OneThatComesBackWithoutWhatItPinsIsNone) {
  BranchWriter first = begin();
  first.write("lost", "3");
  first.publish();
  const std::string key = first.volume().session().session().key();
  const auto late = data_.store().objects().at(key);
  EXPECT_TRUE(data_.run(remove_branch(data_.volume(), seen().front())));
  collect();
  collect();
  data_.store().objects()[key] = late;
  BranchWriter next = begin("job.train.0", 2);
  EXPECT_EQ(next.contents(), (Contents{{"base", "1"}, {"folder/below", "2"}}));
  EXPECT_EQ(seen().size(), 1U);
}

// What has no version and no branch any more is garbage, of a writer that lives, too.
TEST_F(BranchSessionTest, OneThatIsRemovedLeavesNothing) {
  const std::int64_t before = static_cast<std::int64_t>(data_.store().objects().size());
  BranchWriter writer = begin();
  writer.write("large", testing::noise(100'000, 1));
  writer.publish();
  for (SeenBranch& branch : seen()) {
    EXPECT_TRUE(data_.run(remove_branch(data_.volume(), std::move(branch))));
  }
  EXPECT_EQ(writer.try_publish().error().code, Errc::kConflict);
  EXPECT_EQ(no_branch({.name = "job.train.0", .is_new = false}).code, Errc::kConflict);
  collect();
  collect();
  EXPECT_LE(static_cast<std::int64_t>(data_.store().objects().size()), before + 1);
  EXPECT_EQ(data_.objects("s/"), 0);
}

// A beat that is on its way does not say again what was before.
TEST_F(BranchSessionTest, ABeatBesideAPublishTakesNothingBack) {
  for (int order = 0; order < 2; ++order) {
    BranchWriter writer = begin("job.train." + std::to_string(order));
    std::vector<Async<void>> both;
    Manifest manifest = data_.run(snapshot_of_branch(writer.volume())).manifest();
    const auto beat = [&] {
      return writer.volume().keep_session([] { return std::set<std::string>(); });
    };
    const auto move = [&] { return writer.volume().publish_in_branch(manifest, true); };
    both.push_back(order == 0 ? beat() : move());
    both.push_back(order == 0 ? move() : beat());
    data_.run(async::when_all(*data_.loop(), std::move(both)));
    data_.run(beat());
    const SeenBranch there =
        data_.run(find_branch(data_.volume(), "job.train." + std::to_string(order)));
    EXPECT_TRUE(there.record().sealed);
    EXPECT_NE(there.record().pin, there.record().base);
  }
}

TEST_F(BranchSessionTest, AVolumeThatIsDeletedHasNone) {
  BranchWriter writer = begin();
  writer.write("a", "1");
  writer.seal();
  processes_.ended.insert(processes_.pid);
  VolumeContext context{data_.store(), env::real_clock(), data_.random(), {}};
  VolumeContext named{context.store,  context.clock, context.random, {},
                      context.others, processes_,    context.memory};
  Volume volume = data_.run(Volume::open_to_delete(named, "data"));
  data_.run(delete_volume(*data_.loop(), env::real_clock(), volume, {.wait = false}, {}));
  EXPECT_EQ(data_.store().objects().size(), 1U) << "what says that it is gone";
}

TEST_F(BranchSessionTest, ANameIsChecked) {
  for (const std::string name : {"", "a/b", "ä", "a b"}) {
    EXPECT_EQ(no_branch({.name = name}).code, Errc::kInvalid) << name;
  }
  EXPECT_EQ(no_branch({.name = std::string(201, 'a')}).field, "branch");
  EXPECT_EQ(data_.try_run(find_branch(data_.volume(), "none")).error().code, Errc::kNotFound);
}

// A store that counts what is read of sessions.
class CountedSessions final : public object::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Async<object::Object> get(std::string key, std::int64_t most, async::StopToken stop) override {
    if (key.find("/s/") != std::string::npos) ++reads;
    return ForwardingStore::get(std::move(key), most, std::move(stop));
  }

  int reads = 0;
};

TEST_F(BranchSessionTest, WhoBeginsOneReadsNoSessionsOfOthers) {
  for (int number = 0; number < 20; ++number) begin("other-" + std::to_string(number));
  CountedSessions store(data_.store());
  Volume volume = data_.run(Volume::open({store, env::real_clock(), data_.random(), {}}, "data"));
  data_.run(begin_branch(volume, {.name = "mine"}));
  EXPECT_LE(store.reads, 4) << "its own, when it looks for others of its name";
  EXPECT_EQ(data_.run(find_branch(volume, "other-7")).name(), "other-7");
  volume.leave_session();
  EXPECT_EQ(seen().size(), 21U);
}

}  // namespace
}  // namespace runnel::volume
