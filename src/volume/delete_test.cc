#include "volume/delete.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "object/forwarding_store.h"
#include "volume/clone.h"
#include "volume/fsck.h"
#include "volume/pack.h"
#include "volume/put.h"
#include "volume/tag.h"
#include "volume/testing/disturbed_store.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::BusyStore;
using testing::Contents;
using testing::MemoryVolume;
using testing::ShortLivedStore;

class DeleteTest : public ::testing::Test {
 protected:
  DeleteTest() { data_.put({{"a", a_}, {"b", "2"}}); }

  VolumeContext context() { return {data_.store(), env::real_clock(), data_.random(), {}}; }
  Result<Volume> try_open(const std::string& name) {
    return data_.try_run(Volume::open(context(), name));
  }
  Result<DeleteResult> try_delete(const std::string& name) {
    return try_delete_in(data_.store(), name);
  }
  Result<DeleteResult> try_delete_in(object::ObjectStore& store, const std::string& name) {
    Volume volume = TRY(data_.try_run(
        Volume::open_to_delete({store, env::real_clock(), data_.random(), {}}, name)));
    return data_.try_run(
        delete_volume(*data_.loop(), env::real_clock(), volume, {.wait = false}, {}));
  }
  GcResult gc(Volume& volume) {
    return data_.run(
        collect_garbage(*data_.loop(), env::real_clock(), volume, {.wait = false}, {}));
  }
  std::set<std::string> keys(const std::string& prefix) {
    std::set<std::string> keys;
    for (const auto& [key, object] : data_.store().objects()) {
      if (key.starts_with(prefix)) keys.insert(key);
    }
    return keys;
  }

  const std::string a_ = testing::noise(200'000, 1);
  MemoryVolume data_;
};

TEST_F(DeleteTest, LeavesAHeadAloneAndTheNameFree) {
  data_.put({{"c", testing::noise(300'000, 2)}});
  data_.run(set_tag(data_.volume(), "latest", "first", false));
  const DeleteResult deleted = MUST(try_delete("data"));
  EXPECT_GT(deleted.bytes, 500'000);
  EXPECT_EQ(keys(""), (std::set<std::string>{"data/head"}));
  EXPECT_LT(data_.store().objects().at("data/head").bytes.size(), 400U);
  const Error error = try_open("data").error();
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_EQ(error.message, "volume data was deleted");
  EXPECT_EQ(MUST(try_delete("data")).objects, 0) << "it is done";
  Volume anew = data_.run(Volume::create(context(), "data"));
  EXPECT_EQ(anew.head().newest(), nullptr);
  EXPECT_EQ(data_.try_run(Volume::create(context(), "data")).error().code, Errc::kConflict);
}

TEST_F(DeleteTest, NobodyDeletesWhatAnotherVolumeReads) {
  MemoryVolume mine(data_, "latest", "mine");
  mine.put({{"c", "3"}});
  const Error error = try_delete("data").error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_EQ(error.message, "volume data is in use: cloned as mine");
  EXPECT_EQ(mine.contents(), (Contents{{"a", a_}, {"b", "2"}, {"c", "3"}}));
  MUST(try_delete("mine"));
  data_.run(data_.volume().refresh());
  EXPECT_TRUE(data_.volume().head().clones.empty());
  EXPECT_EQ(data_.contents(), (Contents{{"a", a_}, {"b", "2"}}));
  MUST(try_delete("data"));
  EXPECT_EQ(keys(""), (std::set<std::string>{"data/head", "mine/head"}));
}

TEST_F(DeleteTest, ACloneMayTakeThePlaceOfADeletedVolume) {
  MemoryVolume mine(data_, "latest", "mine");
  MUST(try_delete("mine"));
  data_.run(data_.volume().refresh());
  MemoryVolume again(data_, "latest", "mine");
  EXPECT_EQ(again.contents(), data_.contents());
}

// Nobody keeps for a copy what it reads, so nothing is to be let go of.
TEST_F(DeleteTest, ACopyOfACloneIsDeletedWithoutThePromiseToTheClone) {
  MemoryVolume mine(data_, "latest", "mine");
  mine.put({{"c", "3"}});
  const std::map<std::string, object::Object> objects = data_.store().objects();
  for (const auto& [key, object] : objects) {
    if (key.starts_with("mine/")) data_.store().objects()["copy/" + key.substr(5)] = object;
  }
  MUST(try_delete("copy"));
  EXPECT_EQ(keys("copy/"), (std::set<std::string>{"copy/head"}));
  EXPECT_EQ(try_delete("data").error().message, "volume data is in use: cloned as mine");
  data_.put({{"d", "4"}}, {.mirror = true});
  gc(data_.volume());
  EXPECT_EQ(mine.contents(), (Contents{{"a", a_}, {"b", "2"}, {"c", "3"}}));
}

// Requests of killed processes that come after the end of a deletion.
TEST_F(DeleteTest, WhatComesLateGoesWithAnotherCall) {
  Volume late = MUST(try_open("data"));
  data_.run(late.begin_writing(session_of_this_process("put")));
  const std::string key = pack_key(late.new_object_id("pack"));
  std::erase_if(data_.store().objects(),
                [](const auto& each) { return each.first.starts_with("data/s/"); });
  MUST(try_delete("data"));
  data_.run(late.put_object(key, "pack"));
  EXPECT_EQ(MUST(try_delete("data")).objects, 1);
  EXPECT_EQ(keys(""), (std::set<std::string>{"data/head"}));
  EXPECT_EQ(MUST(try_delete("data")).objects, 0);
  Volume anew = data_.run(Volume::create(context(), "data"));
  EXPECT_EQ(anew.head().collections, 0);
}

// As one whose machine slept.
TEST_F(DeleteTest, WhoBeatsAfterTheDeletionIsToldOfIt) {
  Volume late = MUST(try_open("data"));
  data_.run(late.begin_reading(session_of_this_process("mount"), "latest"));
  std::erase_if(data_.store().objects(),
                [](const auto& each) { return each.first.starts_with("data/s/"); });
  MUST(try_delete("data"));
  const Error error =
      data_.try_run(late.keep_session([] { return std::set<std::string>(); })).error();
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_EQ(error.message, "volume data was deleted");
}

// What it held may have been deleted, and the volume of the name is another.
TEST_F(DeleteTest, AWriterOfBeforeIsNoneOfAVolumeThatIsMadeAnew) {
  Volume late = MUST(try_open("data"));
  data_.run(late.begin_writing(session_of_this_process("put")));
  const std::string key = pack_key(late.new_object_id("pack"));
  data_.run(late.put_object(key, "pack"));
  std::erase_if(data_.store().objects(),
                [](const auto& each) { return each.first.starts_with("data/s/"); });
  MUST(try_delete("data"));
  EXPECT_FALSE(data_.store().objects().contains("data/" + key));
  data_.run(Volume::create(context(), "data"));
  Edit root = Edit::folder();
  root.entries["late"].node.hash = hash::sha256("");
  const Error error = data_.try_run(late.publish(root, {}, 0, "")).error();
  EXPECT_EQ(error.code, Errc::kConflict) << error.to_string();
  EXPECT_EQ(MUST(try_open("data")).head().newest(), nullptr);
  EXPECT_EQ(data_.try_run(late.keep_session([] { return std::set<std::string>(); })).error().code,
            Errc::kConflict);
}

TEST_F(DeleteTest, WhoReadsOrWritesIsNamed) {
  Volume reader = MUST(try_open("data"));
  SessionRecord who = session_of_this_process("mount");
  who.source = "/data";
  data_.run(reader.begin_reading(who, "latest"));
  const Error error = try_delete("data").error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_NE(error.message.find("in use: the mount of /data (pid "), std::string::npos)
      << error.message;
  MUST(data_.try_run(reader.end_session()));
  MUST(try_delete("data"));
}

// `before`: the volume as it was.
Async<void> open_and_delete(async::EventLoop& loop, VolumeContext context, std::string name,
                            std::optional<Volume>& before) {
  before.emplace(CO_TRY(co_await Volume::open(context, name)));
  Volume volume = CO_TRY(co_await Volume::open_to_delete(context, name));
  CO_TRY(co_await delete_volume(loop, context.clock, volume, {.wait = false}, {}));
  co_return {};
}

// Puts an object twice, and something happens between: the first answer was lost.
class StoreThatAsksTwice final : public object::ForwardingStore {
 public:
  StoreThatAsksTwice(object::ObjectStore& inner, std::string key,
                     std::function<Async<void>()> meanwhile)
      : ForwardingStore(inner), key_(std::move(key)), meanwhile_(std::move(meanwhile)) {}
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    if (key == key_ && meanwhile_) {
      CO_TRY(co_await inner().put(key, bytes, condition, stop));
      CO_TRY(co_await std::exchange(meanwhile_, nullptr)());
    }
    co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition),
                                   std::move(stop));
  }

 private:
  const std::string key_;
  std::function<Async<void>()> meanwhile_;
};

Async<void> begin_to_read(Volume& reader) {
  CO_TRY(co_await reader.begin_reading(session_of_this_process("get"), "latest"));
  co_return {};
}

TEST_F(DeleteTest, WhoBeganAtTheLastMomentKeepsWhatItReads) {
  Volume reader = MUST(try_open("data"));
  BusyStore busy(data_.store(), "data/head", [&] { return begin_to_read(reader); });
  EXPECT_EQ(try_delete_in(busy, "data").error().code, Errc::kConflict);
  EXPECT_EQ(try_open("data").error().message, "volume data is being deleted");
  EXPECT_EQ(data_.try_run(Volume::create(context(), "data")).error().message,
            "volume data is being deleted");
  EXPECT_EQ(data_.objects("p/"), 1) << "it is read still";
  data_.run(reader.keep_session([] { return std::set<std::string>(); }));
  MUST(data_.try_run(reader.end_session()));
  MUST(try_delete("data"));
  EXPECT_EQ(keys(""), (std::set<std::string>{"data/head"}));
}

// Its session comes after the last look at the sessions.
TEST_F(DeleteTest, WhoBeginsTooLateLeavesNoSession) {
  std::optional<Volume> before;
  BusyStore store(data_.store(), "data/s/",
                  [&] { return open_and_delete(*data_.loop(), context(), "data", before); });
  Volume late = data_.run(Volume::open({store, env::real_clock(), data_.random(), {}}, "data"));
  const Error error = data_.try_run(late.begin_writing(session_of_this_process("put"))).error();
  EXPECT_EQ(error.message, "volume data was deleted");
  EXPECT_EQ(keys(""), (std::set<std::string>{"data/head"}));
}

Async<void> begin_to_write(Volume& writer) {
  return writer.begin_writing(session_of_this_process("put"));
}

// Its beat reads a head that is being deleted, too: what it holds stays.
TEST_F(DeleteTest, AWriterThatBeatsMeanwhilePublishesNothing) {
  Volume late = MUST(try_open("data"));
  BusyStore busy(data_.store(), "data/head", [&] { return begin_to_write(late); });
  EXPECT_EQ(try_delete_in(busy, "data").error().code, Errc::kConflict);
  data_.run(late.keep_session([] { return std::set<std::string>(); }));
  Edit root = Edit::folder();
  root.entries["late"].node.hash = hash::sha256("");
  const Error error = data_.try_run(late.publish(root, {}, 0, "")).error();
  EXPECT_EQ(error.message, "volume data is being deleted");
  MUST(data_.try_run(late.end_session()));
  MUST(try_delete("data"));
}

// Ends a reader's session before sessions are listed for the fourth time: gc has marked by then.
class StoreOfAReader final : public object::ForwardingStore {
 public:
  StoreOfAReader(object::ObjectStore& inner, std::function<Async<void>()> end)
      : ForwardingStore(inner), end_(std::move(end)) {}
  Async<object::ListPage> list(std::string prefix, std::string after,
                               async::StopToken stop) override {
    if (prefix == "data/s/" && ++lists_ == 4) CO_TRY(co_await end_());
    co_return co_await inner().list(std::move(prefix), std::move(after), std::move(stop));
  }

 private:
  std::function<Async<void>()> end_;
  int lists_ = 0;
};

// It is gone when the sessions are looked at, and nobody deletes what it held but another round.
TEST_F(DeleteTest, WhatALastReaderHeldGoesToo) {
  Volume reader = MUST(try_open("data"));
  std::int64_t held = 0;
  BusyStore begins(data_.store(), "data/head", [&] { return begin_to_read(reader); });
  StoreOfAReader ends(begins, [&] {
    held = data_.objects("p/");
    return reader.end_session();
  });
  MUST(try_delete_in(ends, "data"));
  EXPECT_EQ(held, 1) << "gc had left it";
  EXPECT_EQ(keys(""), (std::set<std::string>{"data/head"}));
}

Async<void> make_clone(VolumeContext context, Volume& origin) {
  CO_TRY(co_await clone_volume(context, origin, "latest", "mine"));
  co_return {};
}

TEST_F(DeleteTest, ACloneThatIsMadeMeanwhileIsSafe) {
  Volume origin = MUST(try_open("data"));
  BusyStore busy(data_.store(), "data/head", [&] { return make_clone(context(), origin); });
  EXPECT_EQ(try_delete_in(busy, "data").error().code, Errc::kConflict);
  Volume mine = MUST(try_open("mine"));
  EXPECT_TRUE(data_.run(check_volume(*data_.loop(), mine, {}, {})).damages.empty());
  MUST(try_open("data"));
}

// Nobody is told that there is a volume already which this call has made.
TEST_F(DeleteTest, AVolumeWhoseHeadWasPutTwiceIsMade) {
  StoreThatAsksTwice store(data_.store(), "new/head", []() -> Async<void> { co_return {}; });
  const Volume made =
      data_.run(Volume::create({store, env::real_clock(), data_.random(), {}}, "new"));
  EXPECT_EQ(made.head().uuid, MUST(try_open("new")).head().uuid);
}

TEST_F(DeleteTest, AVolumeThatIsMadeAgainBySomeRetryIsAnother) {
  std::optional<Volume> late;
  const auto meanwhile = [&]() -> Async<void> {
    return open_and_delete(*data_.loop(), context(), "new", late);
  };
  StoreThatAsksTwice store(data_.store(), "new/head", meanwhile);
  const Volume made =
      data_.run(Volume::create({store, env::real_clock(), data_.random(), {}}, "new"));
  EXPECT_NE(made.head().uuid, late->head().uuid);
  EXPECT_EQ(data_.try_run(late->refresh()).error().code, Errc::kConflict);
}

Async<void> create_and_delete(async::EventLoop& loop, VolumeContext context, std::string name) {
  CO_TRY(co_await Volume::create(context, name));
  std::optional<Volume> before;
  co_return co_await open_and_delete(loop, context, name, before);
}

// The gc of one that had its name meanwhile has taken its manifest.
TEST_F(DeleteTest, ACloneTakesNoPlaceThatWasTakenMeanwhile) {
  BusyStore busy(data_.store(), "mine/head",
                 [&] { return create_and_delete(*data_.loop(), context(), "mine"); });
  const VolumeContext of_clone{busy, env::real_clock(), data_.random(), {}};
  const auto clone = [&] {
    return data_.try_run(clone_volume(of_clone, data_.volume(), "latest", "mine"));
  };
  EXPECT_EQ(clone().error().code, Errc::kNotFound) << "it may be made again";
  MUST(clone());
  Volume mine = MUST(try_open("mine"));
  EXPECT_TRUE(data_.run(check_volume(*data_.loop(), mine, {}, {})).damages.empty());
}

TEST_F(DeleteTest, ACloneWaitsForTheEndOfADeletion) {
  MemoryVolume mine(data_, "latest", "mine");
  Volume reader = MUST(try_open("mine"));
  BusyStore begins(data_.store(), "mine/head", [&] { return begin_to_read(reader); });
  EXPECT_EQ(try_delete_in(begins, "mine").error().code, Errc::kConflict);
  const auto clone = [&] {
    return data_.try_run(clone_volume(context(), data_.volume(), "latest", "mine"));
  };
  EXPECT_EQ(clone().error().message, "volume mine is being deleted");
  MUST(data_.try_run(reader.end_session()));
  MUST(try_delete("mine"));
  MUST(clone());
}

// Whose session is left is another volume's, and no gc can open the clone to end it.
TEST_F(DeleteTest, ACloneThatCameToNothingIsDeletedBesideASession) {
  MemoryVolume mine(data_, "latest", "mine");
  Head unmade = mine.volume().head();
  unmade.is_made = false;
  unmade.promise = "of another";
  data_.store().objects().at("mine/head").bytes = encode_head(unmade);
  data_.run(
      Session::begin(data_.store(), data_.random(), "mine/", session_of_this_process("put"), {}));
  EXPECT_EQ(try_open("mine").error().code, Errc::kNotFound);
  EXPECT_EQ(try_delete("mine").error().code, Errc::kConflict) << "that is still alive";
  std::erase_if(data_.store().objects(),
                [](const auto& each) { return each.first.starts_with("mine/s/"); });
  MUST(try_delete("mine"));
}

Async<void> put_more(async::EventLoop& loop, Volume& volume) {
  CO_TRY(co_await put_tree(loop, volume, testing::source_of_contents({{"c", "3"}}), {}, {}));
  co_return {};
}

TEST_F(DeleteTest, AVersionThatIsPublishedMeanwhileGoesWithIt) {
  Volume other = MUST(try_open("data"));
  BusyStore busy(data_.store(), "data/head", [&] { return put_more(*data_.loop(), other); });
  MUST(try_delete_in(busy, "data"));
  EXPECT_EQ(keys(""), (std::set<std::string>{"data/head"}));
}

// A session that was left is taken for that of a living process here: this one.
TEST_F(DeleteTest, KilledBeforeAnyChangeItIsWholeOrIsFinishedLater) {
  int killed = 0;
  for (int changes = 0;; ++changes) {
    SCOPED_TRACE("killed after " + std::to_string(changes) + " changes");
    MemoryVolume data;
    data.put({{"a", a_}, {"b", "2"}});
    const auto open = [&](object::ObjectStore& store) {
      return data.run(
          Volume::open_to_delete({store, env::real_clock(), data.random(), {}}, "data"));
    };
    ShortLivedStore mortal(data.store(), changes);
    Volume first = open(mortal);
    const bool done =
        data.try_run(delete_volume(*data.loop(), env::real_clock(), first, {.wait = false}, {}))
            .ok();
    const Result<Volume> there =
        data.try_run(Volume::open({data.store(), env::real_clock(), data.random(), {}}, "data"));
    if (there.ok()) EXPECT_EQ(data.contents(), (Contents{{"a", a_}, {"b", "2"}}));
    std::erase_if(data.store().objects(),
                  [](const auto& each) { return each.first.starts_with("data/s/"); });
    Volume second = open(data.store());
    MUST(data.try_run(delete_volume(*data.loop(), env::real_clock(), second, {.wait = false}, {})));
    EXPECT_EQ(data.store().objects().size(), 1U) << "the head";
    if (done) break;
    ++killed;
  }
  EXPECT_GT(killed, 8);
}

}  // namespace
}  // namespace runnel::volume
