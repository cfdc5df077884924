#include "volume/gc.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "object/forwarding_store.h"
#include "object/memory/memory_store.h"
#include "volume/condemned.h"
#include "volume/fsck.h"
#include "volume/tag.h"
#include "volume/testing/disturbed_store.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

class SetClock final : public env::Clock {
 public:
  Time wall() const override { return now; }
  Duration boot() const override { return env::real_clock().boot(); }
  Time now = env::real_clock().wall();
};

// Two users of one volume. What they do at the same moment is in volume_sim.
class GcTest : public ::testing::Test {
 protected:
  VolumeContext context() { return {store_, clock_, env::real_random(), {}}; }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  std::string publish(const std::string& name) {
    Edit root = Edit::folder();
    root.entries[name].node.hash = hash::sha256("");
    return run(volume_.publish(root, {}, 0, "")).version;
  }
  GcResult gc(GcOptions options = {}) {
    options.wait = false;
    Volume volume = run(Volume::open(context(), "data"));
    return run(collect_garbage(*loop_, clock_, volume, options, {}));
  }
  Async<void> drop_old_versions() {
    GcOptions options;
    options.keep = Duration();
    options.wait = false;
    CO_TRY(co_await collect_garbage(*loop_, clock_, volume_, options, {}));
    co_return {};
  }
  // What a head that has moved on by 64 versions has no more.
  void drop(const std::string& version) {
    run(volume_.change_head(
        [&](const Head& now) -> Result<Head> { return without(now, {version}); }));
  }
  static std::vector<std::string> ids(const std::vector<OldVersion>& versions) {
    std::vector<std::string> ids;
    for (const OldVersion& each : versions) ids.push_back(each.version);
    return ids;
  }
  bool has(const std::string& key) { return store_.objects().contains("data/" + key); }
  // As of a put that was interrupted.
  void leave_garbage() {
    run(volume_.refresh());
    run(volume_.begin_writing(session_of_this_process("put")));
    put_pack();
    run(volume_.end_session());
  }
  // The pack of a writer that began under a head in whose place an older one was put back.
  std::string put_under_a_head_that_is_replaced() {
    publish("one");
    leave_garbage();
    gc();
    const auto backup = store_.objects().at("data/head");
    leave_garbage();
    gc();
    run(volume_.refresh());
    run(volume_.begin_writing(session_of_this_process("put")));
    const std::string pack = put_pack();
    store_.objects().at("data/head") = backup;
    return pack;
  }
  // By such a writer whose session, and what it had put, went then.
  Result<Manifest> publish_after_an_older_head(bool goes_on) {
    const std::string pack = put_under_a_head_that_is_replaced();
    store_.objects().erase(volume_.session().session().key());
    gc();
    EXPECT_FALSE(has(pack));
    if (goes_on) {
      Volume other = run(Volume::open(context(), "data"));
      run(set_tag(other, "latest", "tag", false));
    }
    Edit root = Edit::folder();
    root.entries["two"].node.hash = hash::sha256("");
    Result<Manifest> published = loop_->block_on(volume_.publish(root, {}, 0, ""));
    (void)loop_->block_on(volume_.end_session());
    return published;
  }
  // A pack of the volume's session.
  std::string put_pack(const std::string& bytes = "pack") {
    const std::string key = pack_key(volume_.new_object_id(bytes));
    MUST(loop_->block_on(volume_.put_object(key, bytes)));
    return key;
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore store_;
  SetClock clock_;
  Volume volume_ = run(Volume::create(context(), "data"));
};

TEST_F(GcTest, LeavesAnEmptyVolumeAlone) {
  EXPECT_EQ(gc().objects, 0);
  EXPECT_EQ(store_.objects().size(), 1U) << "the head; its own session is gone";
}

TEST_F(GcTest, LeavesWhatIsBeingPutAndTakesWhatNobodyPutsAnyMore) {
  MUST(loop_->block_on(volume_.begin_writing(session_of_this_process("put"))));
  const std::string pack = put_pack();
  EXPECT_EQ(gc().objects, 0);
  EXPECT_TRUE(has(pack));
  MUST(loop_->block_on(volume_.end_session()));
  EXPECT_EQ(gc({.dry_run = true}).objects, 1);
  EXPECT_TRUE(has(pack));
  EXPECT_EQ(gc().objects, 1);
  EXPECT_FALSE(has(pack));
  EXPECT_EQ(gc().objects, 0);
}

TEST_F(GcTest, WhoWasTakenForDeadPublishesNothingThatIsGone) {
  MUST(loop_->block_on(volume_.begin_writing(session_of_this_process("put"))));
  const std::string key = volume_.session().session().key();
  const object::Object session = store_.objects().at(key);
  const std::string gone = put_pack();
  store_.objects().erase(key);
  EXPECT_EQ(gc().objects, 1);
  store_.objects()[key] = session;  // By a request that was late.
  const Result<void> kept = loop_->block_on(volume_.keep_session([&] { return std::set{gone}; }));
  EXPECT_EQ(kept.error().code, Errc::kConflict);
  EXPECT_EQ(kept.error().hint, "run it again");
}

TEST_F(GcTest, WhoWasPassedOverWithoutALossGoesOn) {
  MUST(loop_->block_on(volume_.begin_writing(session_of_this_process("put"))));
  const std::string key = volume_.session().session().key();
  const object::Object session = store_.objects().at(key);
  put_pack();
  store_.objects().erase(key);
  EXPECT_EQ(gc().objects, 1);
  store_.objects()[key] = session;
  const std::string mine = put_pack();
  const auto keys = [&] { return std::set{mine}; };
  MUST(loop_->block_on(volume_.keep_session(keys)));
  store_.objects()["data/p/0123456789abcdef-0123456789abcdef"] = {"pack", "1"};
  EXPECT_EQ(gc().objects, 2) << "that pack and the last list: it is alive again";
  EXPECT_TRUE(has(mine));
  MUST(loop_->block_on(volume_.keep_session(keys)));
}

// What it pinned at first was kept; what it has pinned since may be gone.
TEST_F(GcTest, WhoCameBackAsItWasAtFirstPublishesNothingThatIsGone) {
  const std::string first = publish("one");
  const std::string second = publish("two");
  Volume writer = run(Volume::open(context(), "data"));
  MUST(loop_->block_on(writer.begin_writing(session_of_this_process("put"))));
  SessionRecord at_first = writer.session().session().record();
  at_first.pin = run(Volume::open(context(), "data")).place_of(first).value().key;
  publish("three");
  drop(second);
  store_.objects()[writer.session().session().key()] = {encode_session(at_first), "another"};
  EXPECT_GT(gc().objects, 0);
  const Result<void> kept =
      loop_->block_on(writer.keep_session([] { return std::set<std::string>(); }));
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, Errc::kConflict);
}

TEST_F(GcTest, AReaderKeepsItsVersion) {
  const std::string first = publish("one");
  publish("two");
  Volume reader = run(Volume::open(context(), "data"));
  Snapshot snapshot = run(reader.begin_reading(session_of_this_process("get"), first));
  drop(first);
  EXPECT_EQ(gc().objects, 0);
  EXPECT_EQ(run(snapshot.list(kRootInode, "", 10)).size(), 1U);
  Volume late = run(Volume::open(context(), "data"));
  const Result<Snapshot> gone =
      loop_->block_on(late.begin_reading(session_of_this_process("get"), first));
  EXPECT_EQ(gone.error().code, Errc::kNotFound);
  MUST(loop_->block_on(reader.end_session()));
  EXPECT_GT(gc().objects, 0);
}

// Of a volume that was deleted, and whose name another one has.
TEST_F(GcTest, ASessionOfAnotherVolumeThatComesLateIsInNobodysWay) {
  publish("a");
  run(volume_.begin_reading(session_of_this_process("get"), "latest"));
  const std::string pin = "data/" + volume_.session().session().record().pin;
  const std::string session = volume_.session().session().key();
  const std::map<std::string, object::Object> late{{pin, store_.objects().at(pin)},
                                                   {session, store_.objects().at(session)}};
  store_.objects().clear();
  Volume anew = run(Volume::create(context(), "data"));
  store_.objects().insert(late.begin(), late.end());
  Edit root = Edit::folder();
  root.entries["b"].node.hash = hash::sha256("");
  run(anew.publish(root, {}, 0, ""));
  EXPECT_EQ(gc().objects, 1) << "the manifest";
  EXPECT_TRUE(store_.objects().contains(session)) << "its owner may live";
}

TEST_F(GcTest, AVersionThatSomebodyHoldsStaysInTheHead) {
  const std::string first = publish("one");
  const std::string second = publish("two");
  publish("three");
  Volume reader = run(Volume::open(context(), "data"));
  SessionRecord who = session_of_this_process("mount");
  who.source = "/data";
  run(reader.begin_reading(who, first));
  for (const bool dry_run : {true, false}) {
    const GcResult result = gc({.keep = Duration(), .dry_run = dry_run});
    EXPECT_EQ(ids(result.dropped), std::vector{second});
    ASSERT_EQ(ids(result.held), std::vector{first});
    EXPECT_EQ(result.held[0].holders.at(0).source, "/data");
    EXPECT_EQ(result.held[0].files, 1);
  }
  run(Volume::open(context(), "data")).place_of(first).value();
  run(reader.end_session());
  EXPECT_EQ(ids(gc({.keep = Duration()}).dropped), std::vector{first});
}

TEST_F(GcTest, WhatWasTheNewestSinceIsKept) {
  const Duration day = Duration::hours(24);
  const std::string first = publish("one");
  clock_.now = clock_.now + day * 10;
  const std::string second = publish("two");
  clock_.now = clock_.now + day * 2;
  publish("three");
  clock_.now = clock_.now + day * 6;
  EXPECT_EQ(ids(gc({.keep = day * 7}).dropped), std::vector{first}) << "replaced 8 days ago";
  clock_.now = clock_.now + day * 2;
  EXPECT_EQ(ids(gc({.keep = day * 7}).dropped), std::vector{second}) << "replaced 8 days ago";
}

TEST_F(GcTest, WhatASlowClockHasJustReplacedIsNotOld) {
  const Time today = clock_.now;
  clock_.now = today - Duration::hours(200);
  publish("one");
  clock_.now = today - Duration::hours(50'000);
  publish("two");
  clock_.now = today;
  EXPECT_TRUE(gc({.keep = Duration::hours(150)}).dropped.empty());
}

TEST_F(GcTest, AClockThatIsWrongKeepsNothingForGood) {
  const Time today = clock_.now;
  const std::string first = publish("one");
  clock_.now = today + Duration::hours(600'000);  // Some 70 years.
  const std::string second = publish("two");
  clock_.now = today + Duration::hours(1);
  const std::string third = publish("three");
  clock_.now = today;
  publish("four");
  clock_.now = today + Duration::hours(100);
  EXPECT_TRUE(gc({.keep = Duration::hours(200)}).dropped.empty());
  EXPECT_EQ(ids(gc({.keep = Duration::hours(98)}).dropped), (std::vector{second, first}));
  EXPECT_EQ(ids(gc({.keep = Duration()}).dropped), std::vector{third})
      << "its successor counts as published now";
}

TEST_F(GcTest, AVersionOfAMachineWhoseClockIsSlowIsNotOld) {
  const Time today = clock_.now;
  publish("one");
  clock_.now = today - Duration::hours(50'000);
  publish("two");
  publish("three");
  clock_.now = today;
  publish("four");
  EXPECT_TRUE(gc({.keep = Duration::hours(1)}).dropped.empty());
}

// By another hand, or with a head that was put back.
TEST_F(GcTest, AListThatIsLostOrDamagedHoldsNothingUp) {
  for (const bool is_lost : {true, false}) {
    publish(is_lost ? "lost one" : "damaged one");
    publish(is_lost ? "lost two" : "damaged two");
    gc({.keep = Duration()});
    run(volume_.refresh());
    const std::string list = "data/" + volume_.head().condemned;
    ASSERT_TRUE(store_.objects().contains(list));
    if (is_lost) {
      store_.objects().erase(list);
    } else {
      store_.objects().at(list) = store_.objects().at("data/head");
    }
    // It was not swept, either.
    run(volume_.change_head([](const Head& now) -> Result<Head> {
      Head next = now;
      next.swept = false;
      return next;
    }));
    const std::string third = publish(is_lost ? "lost three" : "damaged three");
    publish(is_lost ? "lost four" : "damaged four");
    EXPECT_GT(gc({.keep = Duration(), .dry_run = true}).objects, 0);
    EXPECT_GT(gc({.keep = Duration()}).objects, 0);
    EXPECT_FALSE(run(Volume::open(context(), "data")).place_of(third).ok());
    EXPECT_EQ(gc().objects, 0);
    run(volume_.refresh());
  }
}

TEST_F(GcTest, WhoseListWasLostPublishesNothing) {
  publish("one");
  publish("two");
  MUST(loop_->block_on(volume_.begin_writing(session_of_this_process("put"))));
  const std::string pack = put_pack();
  gc({.keep = Duration()});
  Volume now = run(Volume::open(context(), "data"));
  store_.objects().erase("data/" + now.head().condemned);
  Edit root = Edit::folder();
  root.entries["three"].node.hash = hash::sha256("");
  const auto nothing = [] { return std::set<std::string>(); };
  EXPECT_EQ(loop_->block_on(volume_.keep_session(nothing)).error().code, Errc::kConflict)
      << "at the next beat";
  EXPECT_EQ(loop_->block_on(volume_.publish(root, {}, 0, "")).error().code, Errc::kConflict);
  gc();
  EXPECT_FALSE(has(pack)) << "it counts as passed over";
  EXPECT_EQ(loop_->block_on(volume_.publish(root, {}, 0, "")).error().code, Errc::kConflict);
  MUST(loop_->block_on(volume_.end_session()));
}

// The numbers of lists begin anew from what an older head says.
TEST_F(GcTest, WhoBeganUnderAHeadThatWasReplacedByAnOlderOneIsToldWhatIsGone) {
  const std::string pack = put_under_a_head_that_is_replaced();
  for (int runs = 0; runs < 3; ++runs) gc();
  EXPECT_FALSE(has(pack));
  const Result<void> kept =
      loop_->block_on(volume_.keep_session([&] { return std::set<std::string>{pack}; }));
  EXPECT_EQ(kept.error().code, Errc::kConflict) << "what it would publish refers to the pack";
  MUST(loop_->block_on(volume_.end_session()));
}

TEST_F(GcTest, WhoseSessionWasRemovedUnderAnOlderHeadPublishesNothingThatIsGone) {
  EXPECT_EQ(publish_after_an_older_head(false).error().code, Errc::kConflict);
}

// No number is above its own then, and no head of its generation tells.
TEST_F(GcTest, WhoseSessionWasRemovedUnderAnOlderHeadThatWentOnPublishesNothingThatIsGone) {
  EXPECT_EQ(publish_after_an_older_head(true).error().code, Errc::kConflict);
}

TEST_F(GcTest, ASessionThatSaysANumberBeyondAllIsNone) {
  SessionRecord record = session_of_this_process("put");
  record.collections = 7;
  std::string text = encode_session(record);
  EXPECT_TRUE(decode_session(text).ok());
  const std::string seven = "\"collections\":7";
  text.replace(text.find(seven), seven.size(), "\"collections\":9223372036854775807");
  EXPECT_FALSE(decode_session(text).ok());
}

// Compaction gives a version another manifest, and the next put makes it an old one.
TEST_F(GcTest, WhoHoldsAVersionByItsManifestOfBeforeHoldsIt) {
  const std::string first = publish("one");
  Volume reader = run(Volume::open(context(), "data"));
  run(reader.begin_reading(session_of_this_process("get"), first));
  run(volume_.change_head([&](const Head& now) -> Result<Head> {
    Head next = now;
    next.recent[0].key = manifest_key(first, "0123456789abcdef");
    store_.objects()["data/" + next.recent[0].key] =
        store_.objects().at("data/" + now.recent[0].key);
    return next;
  }));
  publish("two");
  EXPECT_EQ(ids(gc({.keep = Duration()}).held), std::vector{first});
}

TEST_F(GcTest, ADryRunSaysWhatWouldGo) {
  const std::string first = publish("one");
  publish("two");
  const std::size_t before = store_.objects().size();
  const GcResult would = gc({.keep = Duration(), .dry_run = true});
  EXPECT_EQ(store_.objects().size(), before);
  EXPECT_EQ(ids(would.dropped), std::vector{first});
  EXPECT_EQ(would.dropped[0].files, 1);
  EXPECT_GT(would.objects, 0);
  const GcResult done = gc({.keep = Duration()});
  EXPECT_EQ(ids(done.dropped), ids(would.dropped));
  EXPECT_EQ(done.objects, would.objects);
  EXPECT_EQ(done.bytes, would.bytes);
  const GcResult later = gc({.keep = Duration(), .dry_run = true});
  EXPECT_TRUE(later.dropped.empty());
  EXPECT_EQ(later.objects, 0);
}

TEST_F(GcTest, ADryRunLeavesSessionsOfTheDeadAndSaysSo) {
  const std::string first = publish("one");
  publish("two");
  Volume reader = run(Volume::open(context(), "data"));
  SessionRecord who = session_of_this_process("get");
  who.pid = 1 << 30;  // Nobody's.
  run(reader.begin_reading(who, first));
  const GcResult would = gc({.keep = Duration(), .dry_run = true});
  EXPECT_EQ(would.sessions, 1);
  EXPECT_EQ(ids(would.dropped), std::vector{first});
  EXPECT_TRUE(store_.objects().contains(reader.session().session().key()));
}

// In a container its process has a number that is nobody's outside.
TEST_F(GcTest, AReaderInAnotherContainerIsNotTakenForDeadAtOnce) {
  const std::string first = publish("one");
  publish("two");
  Volume reader = run(Volume::open(context(), "data"));
  SessionRecord who = session_of_this_process("get");
  who.pid = 1 << 30;
  ++who.pid_namespace;
  Snapshot snapshot = run(reader.begin_reading(who, first));
  drop(first);
  EXPECT_EQ(gc().sessions, 0);
  EXPECT_EQ(run(snapshot.list(kRootInode, "", 10)).size(), 1U);
  who.pid_namespace = session_of_this_process("get").pid_namespace;
  Volume dead = run(Volume::open(context(), "data"));
  run(dead.begin_reading(who, "latest"));
  EXPECT_EQ(gc().sessions, 1);
}

// Has no room for packs, nor for more than this.
class NarrowStore final : public object::ForwardingStore {
 public:
  static constexpr std::size_t kRoom = 200'000;
  using ForwardingStore::ForwardingStore;
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    const bool fits = bytes->size() <= room_ && !key.starts_with("data/p/");
    if (!fits) co_return Error(Errc::kFull, "no space left on device");
    co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition),
                                   std::move(stop));
  }
  Async<void> remove(std::string key, async::StopToken stop) override {
    if (key.starts_with("data/p/")) room_ += kRoom;
    co_return co_await inner().remove(std::move(key), std::move(stop));
  }

 private:
  std::size_t room_ = kRoom;
};

// Volumes may be called "p" or "s", and lie in a store below this one's.
TEST_F(GcTest, LeavesWhatHasNoNameOfItsOwn) {
  const std::vector<std::string> foreign = {"p/head",
                                            "p/p/0123456789abcdef-0123456789abcdef",
                                            "i/head",
                                            "v/v/1",
                                            "g/head",
                                            "s/head",
                                            "s/s/0123456789abcdef"};
  for (const std::string& key : foreign) store_.objects()["data/" + key] = {"theirs", "1"};
  EXPECT_EQ(gc().objects, 0);
  EXPECT_EQ(gc().sessions, 0);
  for (const std::string& key : foreign) EXPECT_TRUE(has(key)) << key;
}

Async<bool> room_is_made() { co_return true; }

// A list of all that may go has no room: the largest go first, and make some.
TEST_F(GcTest, InAFullStoreTheLargestGoFirst) {
  MUST(loop_->block_on(volume_.begin_writing(session_of_this_process("put"))));
  for (int number = 0; number < 5'000; ++number) put_pack(std::to_string(number));
  MUST(loop_->block_on(volume_.end_session()));
  NarrowStore narrow(store_);
  Volume volume = run(Volume::open({narrow, env::real_clock(), env::real_random(), {}}, "data"));
  const auto collect = [&](std::function<Async<bool>()> make_room) {
    GcOptions options{.wait = false, .make_room = std::move(make_room)};
    return loop_->block_on(
        collect_garbage(*loop_, env::real_clock(), volume, std::move(options), {}));
  };
  EXPECT_EQ(collect({}).error().code, Errc::kFull);
  EXPECT_EQ(MUST(collect(room_is_made)).objects, 5'001) << "and the first list";
  EXPECT_EQ(gc().objects, 0);
}

// What was dropped before the store was found to be full is told, too.
TEST_F(GcTest, InAFullStoreAllThatWentIsTold) {
  for (int number = 0; number < 3; ++number) publish(std::to_string(number));
  MUST(loop_->block_on(volume_.begin_writing(session_of_this_process("put"))));
  for (int number = 0; number < 5'000; ++number) put_pack(std::to_string(number));
  MUST(loop_->block_on(volume_.end_session()));
  NarrowStore narrow(store_);
  Volume volume = run(Volume::open({narrow, env::real_clock(), env::real_random(), {}}, "data"));
  GcOptions options{.keep = Duration(), .wait = false, .make_room = room_is_made};
  EXPECT_EQ(run(collect_garbage(*loop_, env::real_clock(), volume, std::move(options), {}))
                .dropped.size(),
            2U);
}

// A store that can only be read, since whoever asks has no right to write, or it has no room.
class ReadOnlyStore final : public object::ForwardingStore {
 public:
  ReadOnlyStore(object::ObjectStore& inner, Errc why) : ForwardingStore(inner), why_(why) {}
  Async<std::string> put(std::string key, object::Body, object::Condition,
                         async::StopToken) override {
    co_return Error(why_, "cannot put " + key);
  }
  Async<void> remove(std::string key, async::StopToken) override {
    co_return Error(why_, "cannot remove " + key);
  }

 private:
  const Errc why_;
};

class ReadOnlyStoreTest : public GcTest, public ::testing::WithParamInterface<Errc> {};

INSTANTIATE_TEST_SUITE_P(OfEachKind, ReadOnlyStoreTest,
                         ::testing::Values(Errc::kDenied, Errc::kFull));

TEST_P(ReadOnlyStoreTest, AVersionThatGoesWhileItIsReadIsToldAsDropped) {
  const std::string first = publish("one");
  ReadOnlyStore store(store_, GetParam());
  Volume reader = run(Volume::open({store, env::real_clock(), env::real_random(), {}}, "data"));
  run(reader.begin_reading(session_of_this_process("get"), first));
  const auto explained = [&] {
    const Error missing(Errc::kNotFound, "there is no object data/p/1");
    return loop_->block_on(reader.explain(missing, [] { return std::set<std::string>(); })).error();
  };
  EXPECT_EQ(explained().message, "there is no object data/p/1") << "which is damage";
  publish("two");
  drop(first);
  EXPECT_EQ(explained().message, "version " + first + " was dropped from the volume");
}

TEST_P(ReadOnlyStoreTest, IsReadWithoutASession) {
  const std::string first = publish("one");
  ReadOnlyStore store(store_, GetParam());
  Volume reader = run(Volume::open({store, env::real_clock(), env::real_random(), {}}, "data"));
  Snapshot snapshot = run(reader.begin_reading(session_of_this_process("get"), "latest"));
  EXPECT_EQ(snapshot.manifest().version, first);
  EXPECT_FALSE(reader.has_session());
  MUST(loop_->block_on(reader.keep_session([] { return std::set<std::string>(); })));
  MUST(loop_->block_on(reader.end_session()));
}

// What it deletes is no damage to who looks at it at that moment.
TEST_F(GcTest, AVersionThatIsDroppedWhileItIsCheckedIsNotDamaged) {
  const std::string old = publish("one");
  const std::string newest = publish("two");
  testing::StoreWithAReader store(store_, "data/i/", [this] { return drop_old_versions(); });
  Volume checked = run(Volume::open({store, env::real_clock(), env::real_random(), {}}, "data"));
  const FsckResult result = run(check_volume(*loop_, checked, {}, {}));
  EXPECT_TRUE(result.damages.empty()) << result.damages.front().what;
  EXPECT_EQ(result.versions, 1);
  EXPECT_EQ(checked.head().find(old), nullptr) << "the gc has dropped it";
  EXPECT_EQ(result.newest, newest);
}

TEST_F(GcTest, TheNextOneFinishesWhatAKilledOneHasCondemned) {
  publish("one");
  const std::string pack = "p/0123456789abcdef-0123456789abcdef";
  const std::string list = condemned_key("0123456789abcdef");
  store_.objects()["data/" + pack] = {"pack", "1"};
  store_.objects()["data/" + list] = {encode_condemned({{pack}, {}}), "2"};
  MUST(loop_->block_on(volume_.change_head([&](const Head& now) -> Result<Head> {
    Head next = now;
    next.condemned = list;
    next.collections = 1;
    next.swept = false;
    return next;
  })));
  gc();
  EXPECT_FALSE(has(pack));
  EXPECT_TRUE(run(Volume::open(context(), "data")).head().swept);
}

// What is dead of an older version's packs is no reason to pack others anew.
TEST(GcOfPacksTest, LeavesPacksOfWhichAllIsAlive) {
  testing::MemoryVolume data;
  testing::Contents many;
  for (int number = 0; number < 50; ++number) {
    many[std::to_string(number)] = testing::noise(3'000, static_cast<std::uint64_t>(number));
  }
  data.put(many);
  data.put({{"0", many["0"]}}, {.mirror = true});
  for (const char* name : {"a", "b", "c"}) data.put({{name, testing::noise(100, name[0])}});
  for (const bool dry_run : {true, false}) {
    const GcOptions options{.wait = false, .dry_run = dry_run};
    const GcResult result =
        data.run(collect_garbage(*data.loop(), env::real_clock(), data.volume(), options, {}));
    EXPECT_EQ(result.rewritten, 0);
    EXPECT_EQ(result.objects, 0);
  }
}

// Damage is not packed anew as if it were whole, and nobody is left to wonder.
TEST(GcOfPacksTest, SaysThatADamagedVersionIsNotPackedAnew) {
  testing::MemoryVolume data;
  const testing::Contents files{{"a", testing::noise(3'000, 1)}, {"b", testing::noise(60'000, 2)}};
  data.put(files);
  data.put({{"a", files.at("a")}}, {.mirror = true});
  for (auto& [key, object] : data.store().objects()) {
    const std::size_t at = object.bytes.find(files.at("a"));
    if (at != std::string::npos) object.bytes[at] = static_cast<char>(object.bytes[at] ^ 1);
  }
  const GcOptions options{.keep = Duration(), .wait = false};
  const GcResult result =
      data.run(collect_garbage(*data.loop(), env::real_clock(), data.volume(), options, {}));
  EXPECT_EQ(result.rewritten, 0);
  EXPECT_NE(result.damage.find("p/"), std::string::npos) << result.damage;
  EXPECT_EQ(result.damage.find("runnel volume"), std::string::npos)
      << "who shows it adds the remedy, with the volume's name: " << result.damage;
}

TEST_F(GcTest, DeletesNothingOfAVolumeThatItCannotRead) {
  publish("one");
  publish("two");
  for (auto& [key, object] : store_.objects()) {
    if (key.find("/i/") == std::string::npos) continue;
    char& last = object.bytes[object.bytes.size() - 5];  // Of the tree of inodes.
    last = static_cast<char>(last ^ 1);
  }
  store_.objects()["data/p/0123456789abcdef-0123456789abcdef"] = {"pack", "1"};
  const std::size_t before = store_.objects().size();
  Volume volume = run(Volume::open(context(), "data"));
  const Result<GcResult> done =
      loop_->block_on(collect_garbage(*loop_, env::real_clock(), volume, {.wait = false}, {}));
  ASSERT_FALSE(done.ok()) << done->objects;
  EXPECT_EQ(done.error().code, Errc::kCorrupt);
  EXPECT_EQ(store_.objects().size(), before);
}

}  // namespace
}  // namespace runnel::volume
