#include "volume/held_session.h"

#include <functional>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "object/forwarding_store.h"
#include "volume/condemned.h"
#include "volume/tag.h"
#include "volume/testing/disturbed_store.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::MemoryVolume;
using testing::StoreWithAReader;

// Answers a request for the head once something has happened, with the head of before.
class StoreThatAnswersLate final : public object::ForwardingStore {
 public:
  explicit StoreThatAnswersLate(object::ObjectStore& inner) : ForwardingStore(inner) {}
  void will_meanwhile(std::function<Async<void>()> work) { meanwhile_ = std::move(work); }
  Async<object::Object> get(std::string key, std::int64_t most, async::StopToken stop) override {
    object::Object before = CO_TRY(co_await inner().get(key, most, std::move(stop)));
    const auto meanwhile = key == "data/head" ? std::exchange(meanwhile_, {}) : nullptr;
    if (meanwhile) CO_TRY(co_await meanwhile());
    co_return before;
  }

 private:
  std::function<Async<void>()> meanwhile_;
};

class HeldSessionTest : public ::testing::Test {
 protected:
  HeldSessionTest() { data_.put({{"a", "1"}}); }

  Volume open(object::ObjectStore& store) {
    return data_.run(Volume::open({store, env::real_clock(), data_.random(), {}}, "data"));
  }
  // Condemns the keys, as a gc that has passed over every session.
  Async<void> condemn(Volume& volume, std::string list, std::set<std::string> keys) {
    CO_TRY(co_await volume.refresh());
    const std::string text = encode_condemned({std::move(keys), {}});
    CO_TRY(co_await data_.store().put("data/" + list, object::make_body(text),
                                      object::Condition::absent(), {}));
    Head next = volume.head();
    ++next.collections;
    next.condemned = list;
    next.swept = false;
    CO_TRY(co_await volume.swap_head(std::move(next)));
    co_return {};
  }
  Async<void> condemn_and_refresh(Volume& other, Volume& volume, std::string key) {
    CO_TRY(co_await condemn(other, condemned_key("0000000000000002"), {std::move(key)}));
    co_return co_await volume.refresh();
  }
  // Of a process that has ended, of this machine: none has this number.
  SessionRecord ended(const std::string& kind, const std::string& uuid) {
    SessionRecord record = session_of_this_process(kind);
    record.pid = 1 << 30;
    record.source = "/data";
    record.uuid = uuid;
    return record;
  }
  SessionRecord ended_put(const std::string& uuid) {
    SessionRecord record = ended("put", uuid);
    record.writes = true;
    return record;
  }
  // What a mount leaves behind whose server was killed.
  void leave_mount(const VersionPlace& place) {
    SessionRecord record = ended("mount", data_.volume().head().uuid);
    record.pin = place.key;
    data_.run(Session::begin(data_.store(), data_.random(), "data/", std::move(record), {}));
  }
  static SessionRecord next_mount() {
    SessionRecord who = session_of_this_process("mount");
    who.source = "/data";
    return who;
  }
  bool goes_on_with(SessionRecord before) {
    data_.run(Session::begin(data_.store(), data_.random(), "data/", std::move(before), {}));
    Volume volume = open(data_.store());
    SessionRecord who = session_of_this_process("put");
    who.source = "/data";
    const bool goes_on = data_.run(volume.go_on_writing(who));
    data_.run(volume.end_session());
    return goes_on;
  }

  MemoryVolume data_;
};

// A publish beside the beat reads the head again while the beat reads a list of garbage.
TEST_F(HeldSessionTest, ABeatSaysNothingOfAListThatItHasNotRead) {
  Volume other = open(data_.store());
  std::string key;
  Volume* writing = nullptr;
  const std::string first = condemned_key("0000000000000001");
  StoreWithAReader store(data_.store(), "data/" + first,
                         [&] { return condemn_and_refresh(other, *writing, key); });
  Volume writer = open(store);
  writing = &writer;
  data_.run(writer.begin_writing(session_of_this_process("put")));
  key = pack_key(writer.new_object_id("pack"));
  data_.run(writer.put_object(key, "pack"));
  data_.run(condemn(other, first, {"p/0000000000000000-0000000000000000"}));
  const KeysInUse keys = [&] { return std::set{key}; };
  data_.run(writer.keep_session(keys));
  EXPECT_EQ(writer.head().collections, 2);
  EXPECT_EQ(data_.try_run(writer.session().check(keys)).error().code, Errc::kConflict);
}

// As where a beat asks for the head beside a gc that swaps it.
TEST_F(HeldSessionTest, AnAnswerThatComesLateIsNoLaterHead) {
  StoreThatAnswersLate store(data_.store());
  Volume volume = open(store);
  store.will_meanwhile([&] { return condemn(volume, condemned_key("0000000000000001"), {}); });
  data_.run(volume.refresh());
  EXPECT_EQ(volume.head().collections, 1);
  data_.run(set_tag(volume, "latest", "first", false));
}

TEST_F(HeldSessionTest, APutThatWasKilledIsGoneOnWith) {
  EXPECT_TRUE(goes_on_with(ended_put(data_.volume().head().uuid)));
}

TEST_F(HeldSessionTest, NobodyGoesOnWithAPutIntoAVolumeThatHadTheName) {
  EXPECT_FALSE(goes_on_with(ended_put("00000000000000000000000000000000")));
}

// While the store is away.
TEST_F(HeldSessionTest, WhatAReaderHeldIsLeftToWhoAsksAgain) {
  const VersionPlace place = *data_.volume().head().newest();
  data_.put({{"a", "2"}});  // The head does not have the manifest itself any more.
  leave_mount(place);
  const auto away = []() -> Async<void> { co_return Error(Errc::kUnavailable, "away"); };
  StoreWithAReader store(data_.store(), "data/" + place.key, away);
  Volume first = open(store);
  EXPECT_EQ(data_.try_run(first.go_on_reading(next_mount(), place.version)).error().code,
            Errc::kUnavailable);
  Volume second = open(store);
  EXPECT_TRUE(data_.run(second.go_on_reading(next_mount(), place.version)).has_value());
  data_.run(second.end_session());
}

TEST_F(HeldSessionTest, WhatAReaderHasTakenOverItKeepsThoughTheStoreFails) {
  const VersionPlace place = *data_.volume().head().newest();
  leave_mount(place);
  testing::ShortLivedStore store(data_.store(), 1);
  Volume volume = open(store);
  EXPECT_TRUE(data_.run(volume.go_on_reading(next_mount(), place.version)).has_value());
  EXPECT_EQ(data_.objects("s/"), 1);
}

// As those of a policy that allows GetObject alone.
class StoreThatListsNothing final : public object::ForwardingStore {
 public:
  explicit StoreThatListsNothing(object::ObjectStore& inner) : ForwardingStore(inner) {}
  Async<object::ListPage> list(std::string prefix, std::string, async::StopToken) override {
    co_return Error(Errc::kDenied, "may not list " + prefix);
  }
  Async<std::string> put(std::string key, object::Body, object::Condition,
                         async::StopToken) override {
    co_return Error(Errc::kDenied, "may not put " + key);
  }
};

TEST_F(HeldSessionTest, KeysThatMayNotListGoOnWithNothing) {
  const VersionPlace place = *data_.volume().head().newest();
  leave_mount(place);
  StoreThatListsNothing store(data_.store());
  Volume volume = open(store);
  EXPECT_FALSE(data_.run(volume.go_on_reading(next_mount(), place.version)).has_value());
  EXPECT_EQ(data_.run(volume.begin_reading(next_mount(), place.version)).manifest().version,
            place.version);
}

// As with keys that may not delete: what the work has done is done.
TEST_F(HeldSessionTest, WorkThatIsDoneIsToldAsDoneThoughItsSessionCannotBeRemoved) {
  class StoreThatKeepsAll final : public object::ForwardingStore {
   public:
    explicit StoreThatKeepsAll(object::ObjectStore& inner) : ForwardingStore(inner) {}
    Async<void> remove(std::string key, async::StopToken) override {
      co_return Error(Errc::kDenied, "may not remove " + key);
    }
  };
  StoreThatKeepsAll store(data_.store());
  Volume volume = open(store);
  Edit root = Edit::folder();
  root.entries["a"].gone = true;
  const Manifest published = data_.run(volume.publish(root, {}, 0, ""));
  EXPECT_EQ(published.version, open(data_.store()).head().newest()->version);
  const PutResult put =
      data_.run(put_tree(*data_.loop(), volume, testing::source_of_contents({{"b", "1"}}), {}, {}));
  EXPECT_EQ(put.manifest.version, open(data_.store()).head().newest()->version);
}

// From a head that is older than the session, as of a backup.
TEST_F(HeldSessionTest, NobodyGoesOnWithWhatNoListTellsOf) {
  SessionRecord before = ended_put(data_.volume().head().uuid);
  before.collections = 1;
  EXPECT_FALSE(goes_on_with(before));
  EXPECT_EQ(data_.objects("s/"), 0);
}

}  // namespace
}  // namespace runnel::volume
