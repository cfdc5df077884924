#include "volume/merge.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "volume/branch_session.h"
#include "volume/gc.h"
#include "volume/old_versions.h"
#include "volume/testing/branch_writer.h"
#include "volume/testing/disturbed_store.h"

namespace runnel::volume {
namespace {

using testing::BranchWriter;
using testing::Contents;
using testing::MemoryVolume;

class MergeTest : public ::testing::Test {
 protected:
  MergeTest() { data_.put({{"base", "1"}, {"folder/a", "2"}, {"folder/b", "3"}}); }

  Result<std::string> try_merge(const std::vector<std::string>& names,
                                const std::string& origin = "job.train") {
    data_.run(data_.volume().refresh());
    Result<std::string> merged = data_.try_run(
        merge_branches(*data_.loop(), data_.volume(), names, {origin, "step train of job"}, {}));
    data_.run(data_.volume().refresh());
    return merged;
  }
  // With the branches gone.
  std::string merge(const std::vector<std::string>& names) {
    std::string version = MUST(try_merge(names));
    data_.run(remove_merged(data_.volume(), names));
    return version;
  }
  // Of two branches that have changed this.
  using Change = std::function<void(BranchWriter&)>;
  Result<std::string> try_merge_of(const Change& one, const Change& other) {
    BranchWriter first(data_, "one");
    BranchWriter second(data_, "other");
    one(first);
    other(second);
    first.seal();
    second.seal();
    return try_merge({"one", "other"});
  }
  void expect_conflict(const std::string& path, const Change& one, const Change& other) {
    const std::string before = data_.newest().version;
    for (const bool is_swapped : {false, true}) {
      const Result<std::string> merged =
          is_swapped ? try_merge_of(other, one) : try_merge_of(one, other);
      ASSERT_FALSE(merged.ok()) << path;
      EXPECT_EQ(merged.error().code, Errc::kConflict);
      EXPECT_EQ(merged.error().value, path);
      EXPECT_NE(merged.error().message.find("'one'"), std::string::npos);
      EXPECT_NE(merged.error().message.find("'other'"), std::string::npos);
      EXPECT_EQ(data_.newest().version, before);
      EXPECT_EQ(branches(), 2U) << "they stay";
      for (SeenBranch& branch : data_.run(see_branches(data_.volume()))) {
        EXPECT_TRUE(data_.run(remove_branch(data_.volume(), std::move(branch))));
      }
    }
  }
  Async<void> remove_one() {
    SeenBranch branch = CO_TRY(co_await find_branch(data_.volume(), "one"));
    (void)CO_TRY(co_await remove_branch(data_.volume(), std::move(branch)));
    co_return co_await data_.volume().change_head([](const Head& now) -> Result<Head> {
      Head next = now;
      next.tags["meanwhile"] = *now.newest();
      return next;
    });
  }
  std::size_t branches() { return data_.run(see_branches(data_.volume())).size(); }
  void collect() {
    for (int times = 0; times < 2; ++times) {
      data_.run(collect_garbage(*data_.loop(), env::real_clock(), data_.volume(),
                                {.keep = Duration(), .wait = false}, {}));
    }
  }

  MemoryVolume data_;
};

Contents with(Contents files, const Contents& more) {
  for (const auto& [path, bytes] : more) files[path] = bytes;
  return files;
}

const Contents kBase{{"base", "1"}, {"folder/a", "2"}, {"folder/b", "3"}};

TEST_F(MergeTest, WhatAllHaveWrittenIsOneVersion) {
  BranchWriter first(data_, "one");
  BranchWriter second(data_, "other");
  first.write("results/one/log", testing::noise(50'000, 1));
  first.write("folder/a", "changed");
  second.write("results/other/log", testing::noise(50'000, 2));
  second.remove("folder/b");
  second.link("link", "folder/a");
  first.seal();
  second.seal();
  const std::string merged = merge({"one", "other"});
  EXPECT_EQ(data_.newest().message, "step train of job");
  EXPECT_EQ(data_.newest().version, merged);
  EXPECT_EQ(branches(), 0U);
  collect();
  EXPECT_EQ(data_.contents(), (Contents{{"base", "1"},
                                        {"folder/a", "changed"},
                                        {"link", "-> folder/a"},
                                        {"results/one/log", testing::noise(50'000, 1)},
                                        {"results/other/log", testing::noise(50'000, 2)}}));
}

// Also where what they have was published long before, and gc has worked since.
TEST_F(MergeTest, OverWhatOthersHavePublishedSince) {
  BranchWriter writer(data_, "one");
  writer.write("folder/new", "4");
  writer.seal();
  data_.put({{"elsewhere", "5"}});
  data_.put({{"folder/b", "newer"}});
  collect();
  merge({"one"});
  collect();
  EXPECT_EQ(data_.contents(),
            with(kBase, {{"elsewhere", "5"}, {"folder/b", "newer"}, {"folder/new", "4"}}));
}

TEST_F(MergeTest, TheSameThingIsNoConflict) {
  const auto both = [](BranchWriter& writer) {
    writer.write("same", "4");
    writer.remove("base");
    writer.write("made/", "");
  };
  MUST(try_merge_of(both, both));
  EXPECT_EQ(data_.contents(),
            (Contents{{"folder/a", "2"}, {"folder/b", "3"}, {"made/", ""}, {"same", "4"}}));
}

TEST_F(MergeTest, TwoFoldersOfANameAreOne) {
  MUST(try_merge_of([](BranchWriter& writer) { writer.write("new/one", "4"); },
                    [](BranchWriter& writer) { writer.write("new/other", "5"); }));
  EXPECT_EQ(data_.contents(), with(kBase, {{"new/one", "4"}, {"new/other", "5"}}));
}

TEST_F(MergeTest, DifferentThingsAtOnePathAreAConflict) {
  expect_conflict(
      "x", [](BranchWriter& writer) { writer.write("x", "4"); },
      [](BranchWriter& writer) { writer.write("x", "5"); });
}

TEST_F(MergeTest, AFileThatOneRemovesAndAnotherChangesIsAConflict) {
  expect_conflict(
      "base", [](BranchWriter& writer) { writer.remove("base"); },
      [](BranchWriter& writer) { writer.write("base", "4"); });
}

TEST_F(MergeTest, AFolderThatOneRemovesAndAnotherChangesIsAConflict) {
  expect_conflict(
      "folder", [](BranchWriter& writer) { writer.remove("folder"); },
      [](BranchWriter& writer) { writer.write("folder/a", "4"); });
}

TEST_F(MergeTest, AFolderThatOneReplacesAndAnotherWritesToIsAConflict) {
  expect_conflict(
      "folder", [](BranchWriter& writer) { writer.link("folder", "base"); },
      [](BranchWriter& writer) { writer.write("folder/new", "4"); });
}

TEST_F(MergeTest, WhatOneRemovesInAFolderThatAnotherRemovesIsGone) {
  MUST(try_merge_of([](BranchWriter& writer) { writer.remove("folder"); },
                    [](BranchWriter& writer) { writer.remove("folder/a"); }));
  EXPECT_EQ(data_.contents(), (Contents{{"base", "1"}}));
}

TEST_F(MergeTest, WhatTheVolumeHasOtherwiseByNowIsAConflict) {
  BranchWriter writer(data_, "one");
  writer.write("base", "mine");
  writer.seal();
  data_.put({{"base", "theirs"}});
  const Error error = try_merge({"one"}).error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_EQ(error.value, "base");
  EXPECT_EQ(data_.contents().at("base"), "theirs");
  EXPECT_EQ(branches(), 1U);
}

TEST_F(MergeTest, AFolderThatGoesHasToHaveWhatItHad) {
  BranchWriter writer(data_, "one");
  writer.remove("folder");
  writer.seal();
  data_.put({{"folder/late", "4"}});
  EXPECT_EQ(try_merge({"one"}).error().value, "folder");
  EXPECT_EQ(data_.contents().at("folder/late"), "4");
}

TEST_F(MergeTest, AFileBecomesAFolderAndAFolderAFile) {
  BranchWriter writer(data_, "one");
  writer.remove("base");
  writer.remove("folder");
  writer.publish();
  writer.write("base/below", "4");
  writer.write("folder", "5");
  writer.seal();
  merge({"one"});
  EXPECT_EQ(data_.contents(), (Contents{{"base/below", "4"}, {"folder", "5"}}));
}

// Whatever was published since, also once the head has it no more.
TEST_F(MergeTest, ItIsMadeOnce) {
  BranchWriter writer(data_, "one");
  writer.write("base", "mine");
  writer.seal();
  const std::string first = MUST(try_merge({"one"}));
  data_.put({{"base", "theirs"}});
  EXPECT_EQ(MUST(try_merge({"one"})), first);
  data_.run(data_.volume().change_head(
      [&](const Head& now) -> Result<Head> { return without(now, {first}); }));
  EXPECT_EQ(merge({"one"}), first);
  EXPECT_EQ(data_.contents().at("base"), "theirs");
  EXPECT_EQ(branches(), 0U);
}

// Killed before anybody noted its version, and asked for again by a job.
TEST_F(MergeTest, OneOfAJobIsFoundByItsNameOnceItsBranchesAreGone) {
  const auto merge_of_job = [this](const std::string& origin) {
    data_.run(data_.volume().refresh());
    return data_.try_run(
        merge_branches(*data_.loop(), data_.volume(), {"one", "other"}, {origin, "", true}, {}));
  };
  BranchWriter one(data_, "one");
  BranchWriter other(data_, "other");
  one.write("x", "1");
  other.write("y", "2");
  one.seal();
  other.seal();
  const std::string version = MUST(merge_of_job("job.train"));
  EXPECT_TRUE(
      data_.run(remove_branch(data_.volume(), data_.run(find_branch(data_.volume(), "one")))));
  EXPECT_EQ(MUST(merge_of_job("job.train")), version) << "killed while they were removed";
  data_.run(remove_merged(data_.volume(), {"one", "other"}));
  data_.put({{"later", "3"}});
  EXPECT_EQ(MUST(merge_of_job("job.train")), version);
  EXPECT_EQ(merge_of_job("job.trai").error().code, Errc::kNotFound);
  BranchWriter again(data_, "other");
  again.write("z", "4");
  again.seal();
  EXPECT_EQ(merge_of_job("job.train").error().code, Errc::kNotFound) << "it is another merge";
}

// Killed before each of its changes: the version is there or not, and then it is made.
TEST_F(MergeTest, ItIsMadeOnceWhereverItIsKilled) {
  const std::vector<std::string> names{"one", "other"};
  for (int changes = 0;; ++changes) {
    SCOPED_TRACE(changes);
    MemoryVolume data;
    data.put(kBase);
    for (const std::string& name : names) {
      BranchWriter writer(data, name);
      writer.write("of " + name, "4");
      writer.seal();
    }
    testing::ShortLivedStore dying(data.store(), changes);
    Volume volume = data.run(Volume::open({dying, env::real_clock(), data.random(), {}}, "data"));
    const Result<std::string> tried =
        data.try_run(merge_branches(*data.loop(), volume, names, {"job.train", ""}, {}));
    const std::string merged =
        data.run(merge_branches(*data.loop(), data.volume(), names, {"job.train", ""}, {}));
    data.run(data.volume().refresh());
    EXPECT_EQ(data.newest().version, merged);
    EXPECT_EQ(data.contents(), with(kBase, {{"of one", "4"}, {"of other", "4"}}));
    EXPECT_EQ(data.volume().head().recent.size(), 2U);
    data.run(remove_merged(data.volume(), names));
    EXPECT_TRUE(data.run(see_branches(data.volume())).empty());
    if (tried.ok()) break;
    ASSERT_LT(changes, 100);
  }
}

// Its merge was killed once the version was there.
TEST_F(MergeTest, ABranchThatGoesOnAfterItsMergeIsMergedAgain) {
  BranchWriter(data_, "one").seal();
  MUST(try_merge({"one"}));
  BranchWriter next(data_, "one", real_processes(), 2);
  next.write("more", "4");
  next.seal();
  merge({"one"});
  EXPECT_EQ(data_.contents().at("more"), "4");
}

TEST_F(MergeTest, OneThatIsMergedSaysNothingOfOthers) {
  BranchWriter first(data_, "one");
  first.write("one", "4");
  first.seal();
  MUST(try_merge({"one"}, "alone"));
  BranchWriter second(data_, "other");
  second.write("other", "5");
  second.seal();
  const Error error = try_merge({"one", "other"}, "both").error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_EQ(error.value, "one");
  MUST(try_merge({"other"}, "rest"));
  EXPECT_EQ(data_.contents(), with(kBase, {{"one", "4"}, {"other", "5"}}));
}

// Its packs are nobody's then.
TEST_F(MergeTest, ABranchThatIsRemovedMeanwhileIsNotMerged) {
  BranchWriter writer(data_, "one");
  writer.write("one", testing::noise(50'000, 1));
  writer.seal();
  testing::BusyStore busy(data_.store(), "data/i/", [this] { return remove_one(); });
  Volume volume = data_.run(Volume::open({busy, env::real_clock(), data_.random(), {}}, "data"));
  // The head moves while pages are put, so that it is looked at once more.
  const Result<std::string> merged =
      data_.try_run(merge_branches(*data_.loop(), volume, {"one"}, {"job.train", ""}, {}));
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().code, Errc::kConflict);
  data_.run(data_.volume().refresh());
  EXPECT_EQ(data_.contents(), kBase);
}

TEST_F(MergeTest, AFolderThatTheVolumeHasNoMoreDoesNotComeBack) {
  BranchWriter writer(data_, "one");
  writer.write("folder/new", "4");
  writer.seal();
  Edit root = Edit::folder();
  root.entries["folder"].gone = true;
  data_.run(data_.volume().publish(root, {}, 0, ""));
  EXPECT_EQ(try_merge({"one"}).error().value, "folder/new");
  EXPECT_EQ(data_.contents(), (Contents{{"base", "1"}}));
}

TEST_F(MergeTest, WhatIsStillWrittenIsRefused) {
  BranchWriter writer(data_, "one");
  writer.write("a", "4");
  writer.publish();
  EXPECT_EQ(try_merge({"one"}).error().code, Errc::kPrecondition);
  EXPECT_EQ(try_merge({"one", "none"}, "else").error().value, "none");
  writer.seal();
  EXPECT_EQ(try_merge({"one", "none"}).error().code, Errc::kNotFound);
  EXPECT_EQ(branches(), 1U);
}

}  // namespace
}  // namespace runnel::volume
