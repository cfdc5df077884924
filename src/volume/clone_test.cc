#include "volume/clone.h"

#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "object/forwarding_store.h"
#include "volume/delete.h"
#include "volume/fsck.h"
#include "volume/gc.h"
#include "volume/testing/disturbed_store.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::BusyStore;
using testing::Contents;
using testing::MemoryVolume;
using testing::ShortLivedStore;

class CloneTest : public ::testing::Test {
 protected:
  CloneTest() { data_.put({{"a", a_}, {"b", b_}}); }

  GcResult gc(MemoryVolume& of) {
    GcOptions options{.keep = Duration::millis(0), .wait = false};
    return of.run(
        collect_garbage(*of.loop(), env::real_clock(), of.volume(), std::move(options), {}));
  }
  Result<Volume> try_clone(const std::string& version, const std::string& name) {
    return data_.try_run(clone_volume({data_.store(), env::real_clock(), data_.random(), {}},
                                      data_.volume(), version, name));
  }
  Result<Volume> try_open(const std::string& name) {
    return data_.try_run(
        Volume::open({data_.store(), env::real_clock(), data_.random(), {}}, name));
  }
  // What it has is all there, byte by byte.
  static bool is_whole(MemoryVolume& of) {
    return of.run(check_volume(*of.loop(), of.volume(), {}, {})).damages.empty();
  }
  void remove_all(const std::string& prefix) {
    std::erase_if(data_.store().objects(),
                  [&](const auto& each) { return each.first.starts_with(prefix); });
  }

  const std::string a_ = testing::noise(200'000, 1);
  const std::string b_ = testing::noise(200'000, 2);
  MemoryVolume data_;
};

TEST_F(CloneTest, HasTheVersionAndGoesItsOwnWay) {
  MemoryVolume mine(data_, "latest", "mine");
  EXPECT_EQ(mine.contents(), data_.contents());
  EXPECT_EQ(mine.newest().version, data_.newest().version);
  EXPECT_NE(mine.newest().uuid, data_.newest().uuid);
  EXPECT_EQ(mine.objects("p/") + mine.objects("i/"), 0) << "nothing is copied";
  mine.put({{"c", "new"}});
  data_.put({{"d", "other"}});
  EXPECT_EQ(mine.contents(), (Contents{{"a", a_}, {"b", b_}, {"c", "new"}}));
  EXPECT_EQ(data_.contents(), (Contents{{"a", a_}, {"b", b_}, {"d", "other"}}));
  mine.put({{"again", a_}});
  EXPECT_EQ(mine.objects("p/"), 1) << "chunks of the origin are there already";
  EXPECT_TRUE(is_whole(mine));
  EXPECT_TRUE(is_whole(data_));
}

TEST_F(CloneTest, MayBeOfAnEarlierVersion) {
  const std::string first = data_.newest().version;
  data_.put({{"c", "3"}}, {.mirror = true});
  gc(data_);
  data_.put({{"a", a_}});
  const std::string second = data_.newest().version;
  data_.put({{"d", "4"}}, {.mirror = true});
  EXPECT_EQ(try_clone(first, "gone").error().code, Errc::kNotFound) << "dropped by then";
  MemoryVolume mine(data_, second, "mine");
  mine.put({{"more", a_}});
  gc(data_);
  EXPECT_EQ(mine.contents(), (Contents{{"a", a_}, {"c", "3"}, {"more", a_}}));
  EXPECT_TRUE(is_whole(mine));
}

TEST_F(CloneTest, GcOfTheOriginKeepsWhatACloneNeedsUntilThatIsNoMore) {
  MemoryVolume mine(data_, "latest", "mine");
  data_.put({{"c", "3"}}, {.mirror = true});
  gc(data_);
  gc(data_);
  EXPECT_EQ(mine.content("a"), a_);
  mine.put({{"again", b_}});
  EXPECT_EQ(mine.objects("p/"), 0) << "what it takes over is kept, too";
  EXPECT_TRUE(is_whole(mine));
  remove_all("mine/");
  EXPECT_GT(gc(data_).bytes, 400'000);
  EXPECT_TRUE(data_.volume().head().clones.empty());
  EXPECT_EQ(data_.contents(), (Contents{{"c", "3"}}));
  EXPECT_TRUE(is_whole(data_));
}

TEST_F(CloneTest, GcOfACloneLeavesItsOriginAlone) {
  MemoryVolume mine(data_, "latest", "mine");
  mine.put({{"c", testing::noise(300'000, 3)}});
  mine.put({{"d", "4"}}, {.mirror = true});
  const std::size_t before = data_.store().objects().size();
  EXPECT_GT(gc(mine).bytes, 300'000);
  EXPECT_LT(data_.store().objects().size(), before);
  EXPECT_EQ(mine.contents(), (Contents{{"d", "4"}}));
  EXPECT_EQ(data_.contents(), (Contents{{"a", a_}, {"b", b_}}));
  EXPECT_TRUE(is_whole(data_));
}

// Packs of which the newest version needs little are written anew, but for those that a clone has.
TEST_F(CloneTest, IsInNobodysWayWhenPacksAreWrittenAnew) {
  Contents many;
  for (int number = 0; number < 50; ++number) {
    many[std::to_string(number)] = testing::noise(20'000, 100 + static_cast<std::uint64_t>(number));
  }
  data_.put(many);
  MemoryVolume mine(data_, "latest", "mine");
  data_.put({{"7", many["7"]}}, {.mirror = true});
  EXPECT_EQ(gc(data_).rewritten, 0);
  EXPECT_EQ(mine.content("49"), many["49"]);
  EXPECT_EQ(data_.contents(), (Contents{{"7", many["7"]}}));
}

TEST_F(CloneTest, OfACloneReadsFromBoth) {
  MemoryVolume mine(data_, "latest", "mine");
  mine.put({{"c", "new"}});
  MemoryVolume theirs(mine, "latest", "theirs");
  data_.put({{"z", "0"}}, {.mirror = true});
  gc(data_);
  gc(mine);
  EXPECT_EQ(theirs.contents(), (Contents{{"a", a_}, {"b", b_}, {"c", "new"}}));
  EXPECT_TRUE(is_whole(theirs));
}

TEST_F(CloneTest, MistakesAreNamed) {
  EXPECT_EQ(try_clone("latest", "data").error().code, Errc::kConflict);
  EXPECT_EQ(try_clone("latest", "No").error().code, Errc::kInvalid);
  EXPECT_EQ(try_clone("nowhere", "mine").error().code, Errc::kNotFound);
  MUST(try_clone("latest", "mine"));
  EXPECT_EQ(try_clone("latest", "mine").error().code, Errc::kConflict);
  for (std::size_t number = 1; number < Head::kClonesMax; ++number) {
    MUST(try_clone("latest", "c" + std::to_string(number)));
  }
  EXPECT_EQ(try_clone("latest", "more").error().code, Errc::kFull);
  remove_all("c1/");
  gc(data_);
  MUST(try_clone("latest", "more"));
}

TEST_F(CloneTest, KilledBeforeAnyPutItIsThereOrCanBeMadeAgain) {
  int killed = 0;
  for (int puts = 0;; ++puts) {
    SCOPED_TRACE("killed after " + std::to_string(puts) + " puts");
    const std::string name = "c" + std::to_string(puts);
    ShortLivedStore mortal(data_.store(), puts);
    const VolumeContext context{mortal, env::real_clock(), data_.random(), {}};
    Volume origin = data_.run(Volume::open(context, "data"));
    const bool whole = data_.try_run(clone_volume(context, origin, "latest", name)).ok();
    killed += whole ? 0 : 1;
    gc(data_);
    const bool is_there = data_.store().objects().contains(name + "/head");
    EXPECT_EQ(data_.volume().head().clones.contains(name), is_there);
    if (!is_there) MUST(try_clone("latest", name));
    Volume clone = MUST(try_open(name));
    EXPECT_TRUE(clone.head().is_made);
    EXPECT_TRUE(data_.run(check_volume(*data_.loop(), clone, {}, {})).damages.empty());
    if (whole) break;
  }
  EXPECT_EQ(killed, 4) << "promise, manifest, head, and the word that it is made";
}

Async<void> collect_beside(async::EventLoop& loop, Volume& volume) {
  CO_TRY(co_await collect_garbage(loop, env::real_clock(), volume, {.wait = false}, {}));
  co_return {};
}

Async<void> clone_beside(VolumeContext context, Volume& origin, std::string name) {
  CO_TRY(co_await clone_volume(context, origin, "latest", std::move(name)));
  co_return {};
}

// gc has seen that there is no such volume, and what it would read is kept by nobody.
TEST_F(CloneTest, OneThatGcWentByIsNoneAndIsMadeAgain) {
  Volume other = MUST(try_open("data"));
  for (int time = 0; time < 2; ++time) {
    BusyStore busy(data_.store(), "mine/head",
                   [&] { return collect_beside(*data_.loop(), other); });
    const VolumeContext context{busy, env::real_clock(), data_.random(), {}};
    EXPECT_EQ(data_.try_run(clone_volume(context, data_.volume(), "latest", "mine")).error().code,
              Errc::kNotFound);
    EXPECT_TRUE(data_.store().objects().contains("mine/head"));
    EXPECT_EQ(try_open("mine").error().code, Errc::kNotFound) << "for everybody";
  }
  data_.put({{"c", "3"}}, {.mirror = true});
  gc(data_);
  EXPECT_EQ(try_open("mine").error().code, Errc::kNotFound);
  MemoryVolume mine(data_, "latest", "mine");
  EXPECT_EQ(mine.contents(), (Contents{{"c", "3"}}));
}

TEST_F(CloneTest, OfTwoOfANameOneIsMade) {
  Volume other = MUST(try_open("data"));
  BusyStore busy(data_.store(), "mine/head", [&] {
    return clone_beside({data_.store(), env::real_clock(), data_.random(), {}}, other, "mine");
  });
  const VolumeContext context{busy, env::real_clock(), data_.random(), {}};
  EXPECT_EQ(data_.try_run(clone_volume(context, data_.volume(), "latest", "mine")).error().code,
            Errc::kConflict);
  EXPECT_EQ(MUST(try_open("mine")).head().promise, other.head().clones.at("mine").nonce);
}

Async<void> delete_beside(async::EventLoop& loop, VolumeContext context, std::string name) {
  Volume volume = CO_TRY(co_await Volume::open_to_delete(context, std::move(name)));
  CO_TRY(co_await delete_volume(loop, context.clock, volume, {.wait = false}, {}));
  co_return {};
}

TEST_F(CloneTest, OneThatIsDeletedWhileItIsMadeIsNone) {
  const VolumeContext outside{data_.store(), env::real_clock(), data_.random(), {}};
  BusyStore busy(
      data_.store(), "mine/head", [&] { return delete_beside(*data_.loop(), outside, "mine"); }, 2);
  const VolumeContext context{busy, env::real_clock(), data_.random(), {}};
  const Error error =
      data_.try_run(clone_volume(context, data_.volume(), "latest", "mine")).error();
  EXPECT_EQ(error.message, "volume mine was deleted");
}

TEST_F(CloneTest, OneWhoseOriginForgotItIsNamed) {
  const object::Object before = data_.store().objects().at("data/head");
  MemoryVolume mine(data_, "latest", "mine");
  EXPECT_TRUE(is_whole(mine));
  data_.store().objects()["data/head"] = before;  // From a backup.
  EXPECT_FALSE(is_whole(mine));
  EXPECT_EQ(mine.contents(), data_.contents()) << "it is there still";
}

TEST_F(CloneTest, ACopyOfItsObjectsIsNone) {
  MUST(try_clone("latest", "mine"));
  data_.store().objects()["copy/head"] = data_.store().objects().at("mine/head");
  EXPECT_EQ(try_open("copy").error().code, Errc::kNotFound);
}

TEST_F(CloneTest, APromiseForWhatBecameAnotherVolumeIsForgotten) {
  MUST(try_clone("latest", "mine"));
  remove_all("mine/");
  data_.run(Volume::create({data_.store(), env::real_clock(), data_.random(), {}}, "mine"));
  gc(data_);
  EXPECT_TRUE(data_.volume().head().clones.empty());
}

}  // namespace
}  // namespace runnel::volume
