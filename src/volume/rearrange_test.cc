#include "volume/rearrange.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "object/forwarding_store.h"
#include "volume/gc.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::Contents;
using testing::MemoryVolume;

class RearrangeTest : public ::testing::Test {
 protected:
  RearrangeTest() { first_ = data_.put({{"a/x", "1"}, {"a/sub/y", "2"}, {"f", "3"}, {"b/", ""}}); }

  Rearranged move(const std::string& from, const std::string& to) {
    return data_.run(move_path(data_.volume(), from, to, ""));
  }
  Error no_move(const std::string& from, const std::string& to) {
    return data_.try_run(move_path(data_.volume(), from, to, "")).error();
  }
  Result<Rearranged> try_copy(const std::string& from, const std::string& to,
                              const std::string& version = "latest") {
    return data_.try_run(copy_path(*data_.loop(), data_.volume(), version, from, to, "copied", {}));
  }
  Rearranged copy(const std::string& from, const std::string& to,
                  const std::string& version = "latest") {
    return MUST(try_copy(from, to, version));
  }
  Rearranged restore(const std::string& version, const std::string& from, const std::string& to) {
    return data_.run(restore_path(*data_.loop(), data_.volume(), version, from, to, "", {}));
  }

  MemoryVolume data_;
  PutResult first_;
};

// A store that takes no session now: a full one, in which a gc makes room meanwhile.
class StoreWithoutSessions final : public object::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    if (key.starts_with("data/s/")) co_return Error(Errc::kFull, "the store is full");
    co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition),
                                   std::move(stop));
  }
};

// Its files might be deleted before it publishes them.
TEST_F(RearrangeTest, WhatTakesOverFilesOfAVersionThatItCannotHoldIsRefused) {
  data_.put({{"other", "4"}});
  StoreWithoutSessions full(data_.store());
  Volume volume = data_.run(Volume::open({full, env::real_clock(), data_.random(), {}}, "data"));
  const Result<Rearranged> restored =
      data_.try_run(restore_path(*data_.loop(), volume, first_.manifest.version, "", "", "", {}));
  ASSERT_FALSE(restored.ok());
  EXPECT_EQ(restored.error().code, Errc::kFull);
  data_.run(volume.begin_reading(volume.processes().this_one("get"), first_.manifest.version));
  EXPECT_FALSE(volume.has_session()) << "who only reads goes on without";
}

TEST_F(RearrangeTest, MovesIntoAFolderOrGivesAnotherName) {
  EXPECT_EQ(move("f", "b").path, "b/f");
  EXPECT_EQ(move("a/sub", "b/other").path, "b/other");
  EXPECT_EQ(move("a/x", "new/").path, "new/x");
  EXPECT_EQ(data_.contents(),
            (Contents{{"a/", ""}, {"b/f", "3"}, {"b/other/y", "2"}, {"new/x", "1"}}));
  EXPECT_EQ(data_.objects("p/"), 1) << "no chunk is written";
  EXPECT_EQ(data_.newest().totals.files, 3);
  EXPECT_EQ(data_.newest().totals.folders, 5);
}

TEST_F(RearrangeTest, AMovedTreeIsTheOneThatAPutWouldMake) {
  move("a", "c");
  MemoryVolume other(data_.loop());
  other.put({{"c/x", "1"}, {"c/sub/y", "2"}, {"f", "3"}, {"b/", ""}});
  EXPECT_EQ(data_.newest().tree, other.newest().tree);
}

TEST_F(RearrangeTest, AMoveThereAndBackIsTheSameTree) {
  move("a/sub", "sub");
  EXPECT_NE(data_.newest().tree, first_.manifest.tree);
  move("sub", "a");
  EXPECT_EQ(data_.newest().tree, first_.manifest.tree);
  EXPECT_EQ(data_.newest().totals.folders, first_.manifest.totals.folders);
}

TEST_F(RearrangeTest, AMoveReplacesFilesAndEmptyFoldersAlone) {
  move("f", "a/x");
  EXPECT_EQ(data_.content("a/x"), "3");
  EXPECT_EQ(data_.newest().totals.files, 2);
  data_.put({{"c/a/", ""}, {"d/a/z", "4"}});
  EXPECT_EQ(move("a", "c").path, "c/a") << "the empty folder is replaced";
  EXPECT_EQ(data_.content("c/a/sub/y"), "2");
  EXPECT_EQ(no_move("c/a", "d").code, Errc::kConflict) << "d/a has an entry";
  EXPECT_EQ(data_.content("d/a/z"), "4");
}

TEST_F(RearrangeTest, RefusesMovesThatCannotBe) {
  EXPECT_EQ(no_move("none", "b").code, Errc::kNotFound);
  EXPECT_EQ(no_move("a", "a/sub").code, Errc::kInvalid) << "into itself";
  EXPECT_EQ(no_move("a", "a/new/deep").code, Errc::kInvalid);
  EXPECT_EQ(no_move("f", "f").code, Errc::kInvalid) << "the same";
  EXPECT_EQ(no_move("a/x", "a").code, Errc::kInvalid) << "it is in there already";
  EXPECT_EQ(no_move("", "b").code, Errc::kInvalid) << "the root";
  EXPECT_EQ(no_move("a", "f").code, Errc::kConflict) << "a folder over a file";
  EXPECT_EQ(no_move("a/x", "f/").code, Errc::kConflict) << "f is no folder";
  EXPECT_NE(no_move("a", "f").hint.find("volume rm"), std::string::npos);
  EXPECT_EQ(data_.newest().version, first_.manifest.version);
  EXPECT_EQ(data_.objects("s/"), 0) << "no session is left";
}

TEST_F(RearrangeTest, AMoveAppliesToWhatOthersHavePublished) {
  Volume late =
      data_.run(Volume::open({data_.store(), env::real_clock(), env::real_random(), {}}, "data"));
  move("a/x", "a/renamed");
  data_.run(move_path(late, "f", "b", ""));
  data_.run(data_.volume().refresh());
  EXPECT_EQ(data_.contents(), (Contents{{"a/renamed", "1"}, {"a/sub/y", "2"}, {"b/f", "3"}}));
}

TEST_F(RearrangeTest, CopiesByReference) {
  const std::string bytes = testing::noise(3'000'000, 1);
  data_.put({{"long", bytes}});
  const std::int64_t packs = data_.objects("p/");
  EXPECT_EQ(copy("long", "b").path, "b/long");
  EXPECT_EQ(copy("a", "b").path, "b/a");
  EXPECT_EQ(copy("a", "twice").path, "twice");
  EXPECT_TRUE(data_.content("b/long") == bytes);
  EXPECT_EQ(data_.content("b/a/sub/y"), "2");
  EXPECT_EQ(data_.content("twice/x"), "1");
  EXPECT_EQ(data_.content("a/x"), "1") << "what was copied stays";
  EXPECT_EQ(data_.objects("p/"), packs);
  EXPECT_EQ(data_.newest().message, "copied");
  EXPECT_EQ(data_.newest().totals.files, 3 + 1 + 1 + 2 + 2);
}

TEST_F(RearrangeTest, ACopyMergesFoldersAndReplacesFiles) {
  data_.put({{"b/a/x", "old"}, {"b/a/z", "stays"}});
  copy("a", "b");
  EXPECT_EQ(data_.content("b/a/x"), "1");
  EXPECT_EQ(data_.content("b/a/z"), "stays");
  EXPECT_EQ(try_copy("f", "b/a/sub/").value().path, "b/a/sub/f");
  data_.put({{"c/f/", ""}});
  EXPECT_EQ(try_copy("f", "c").error().code, Errc::kConflict) << "c/f is a folder";
  EXPECT_EQ(try_copy("a", "f").error().code, Errc::kConflict);
}

TEST_F(RearrangeTest, ACopyGoesIntoItselfFromAnEarlierVersionAlone) {
  EXPECT_EQ(try_copy("a", "a/sub").error().code, Errc::kInvalid);
  EXPECT_EQ(try_copy("", "b").error().code, Errc::kInvalid) << "the root into what is in it";
  copy("a", "a/sub", first_.manifest.version);
  EXPECT_EQ(data_.content("a/sub/a/sub/y"), "2");
  copy("", "b", first_.manifest.version);
  EXPECT_EQ(data_.content("b/a/x"), "1");
}

TEST_F(RearrangeTest, RestoresWhatWasRemoved) {
  Edit root = Edit::folder();
  root.entries["a"].gone = true;
  data_.run(data_.volume().publish(root, {}, 0, ""));
  data_.put({{"g", "new"}});
  EXPECT_EQ(restore(first_.manifest.version, "a/sub", "a/sub").path, "a/sub");
  EXPECT_EQ(data_.contents(), (Contents{{"a/sub/y", "2"}, {"b/", ""}, {"f", "3"}, {"g", "new"}}));
  EXPECT_EQ(restore(first_.manifest.version, "", "").manifest.tree, first_.manifest.tree);
  EXPECT_EQ(data_.objects("p/"), 2) << "no chunk was written";
}

TEST_F(RearrangeTest, ARestoredPathHasNothingElse) {
  Edit root = Edit::folder();
  root.entries["f"].gone = true;
  data_.run(data_.volume().publish(root, {}, 0, ""));
  data_.put({{"a/later", "9"}, {"f/now/a/folder", "8"}});
  restore(first_.manifest.version, "a", "a");
  EXPECT_EQ(data_.content("f/now/a/folder"), "8") << "not below the path";
  restore(first_.manifest.version, "f", "f");
  EXPECT_EQ(data_.newest().tree, first_.manifest.tree) << "also of another kind";
  restore(first_.manifest.version, "a", "b/old");
  EXPECT_EQ(data_.content("b/old/x"), "1");
}

TEST_F(RearrangeTest, ARestoreBringsAttributesBack) {
  Edit root = Edit::folder();
  root.entries["a"] = Edit::folder();
  root.entries["a"].exact = true;
  root.entries["a"].node.mode = 0700;
  data_.run(data_.volume().publish(root, {}, 0, ""));
  ASSERT_EQ(data_.node("a").mode, 0700U);
  restore(first_.manifest.version, "a", "a");
  EXPECT_EQ(data_.node("a").mode, 0755U);
  EXPECT_EQ(data_.newest().tree, first_.manifest.tree);
}

TEST_F(RearrangeTest, WhatIsTakenOverStaysThroughGc) {
  data_.put({{"only", testing::noise(50'000, 7)}}, {.mirror = true});
  const std::string version = data_.newest().version;
  data_.put({{"other", "1"}}, {.mirror = true});
  copy("only", "again", version);
  GcOptions options;
  options.keep = Duration();
  data_.run(collect_garbage(*data_.loop(), env::real_clock(), data_.volume(), options, {}));
  EXPECT_EQ(data_.content("again"), testing::noise(50'000, 7));
  EXPECT_EQ(data_.volume().head().recent.size(), 1U) << "all earlier ones were dropped";
}

TEST_F(RearrangeTest, AnEmptyVolumeHasNothingToCopy) {
  MemoryVolume empty(data_.loop());
  EXPECT_EQ(empty.try_run(move_path(empty.volume(), "a", "b", "")).error().code, Errc::kNotFound);
  EXPECT_EQ(empty.try_run(copy_path(*empty.loop(), empty.volume(), "latest", "", "b", "", {}))
                .error()
                .code,
            Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::volume
