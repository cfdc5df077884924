#include "volume/tree.h"

#include <map>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "base/split_mix.h"
#include "volume/testing/memory_pages.h"

namespace runnel::volume {
namespace {

class SeededRandom final : public env::Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : numbers_(seed) {}
  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_;
};

class TreeTest : public ::testing::Test {
 protected:
  using Map = std::map<std::string, std::string>;

  void apply(std::vector<Change> changes, std::size_t page_bytes = 200) {
    BundleWriter writer(random_);
    const Tree changed =
        MUST(loop_->block_on(change(pages_, writer, tree_, std::move(changes), page_bytes)));
    pages_.keep(writer.finish());
    tree_ = writer.resolved(changed);
  }
  Map all() {
    Map found;
    for (auto& entry : MUST(loop_->block_on(scan(pages_, tree_, "", "", 1 << 20)))) {
      found.insert(std::move(entry));
    }
    return found;
  }
  std::optional<std::string> value_of(const std::string& key) {
    return MUST(loop_->block_on(find(pages_, tree_, key)));
  }
  std::vector<std::string> keys(const std::string& from, const std::string& until,
                                std::size_t max = 100) {
    std::vector<std::string> found;
    for (auto& [key, value] : MUST(loop_->block_on(scan(pages_, tree_, from, until, max)))) {
      found.push_back(key);
    }
    return found;
  }

  PageRef add(PageBuilder& builder) {
    BundleWriter writer(random_);
    const PageRef ref = writer.add(builder.finish());
    pages_.keep(writer.finish());
    return writer.resolved(TreeRoot{ref, 0})->ref;
  }

  std::size_t stored() {
    std::size_t bytes = 0;
    for (const auto& [id, bundle] : pages_.bundles()) bytes += bundle.size();
    return bytes;
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  SeededRandom random_{3};
  testing::MemoryPages pages_;
  Tree tree_;
};

TEST_F(TreeTest, IsEmptyWithoutAPage) {
  EXPECT_EQ(value_of("a"), std::nullopt);
  apply({});
  EXPECT_FALSE(tree_.has_value());
  apply({{"a", std::nullopt}});
  EXPECT_FALSE(tree_.has_value());
  apply({{"a", "1"}});
  EXPECT_EQ(value_of("a"), "1");
  apply({{"a", std::nullopt}});
  EXPECT_FALSE(tree_.has_value());
  EXPECT_TRUE(all().empty());
}

TEST_F(TreeTest, ScansARange) {
  std::vector<Change> changes;
  for (char c = 'a'; c <= 'z'; ++c) changes.push_back({std::string(20, c), std::string(20, c)});
  apply(changes);
  ASSERT_GT(tree_->height, 0);
  EXPECT_EQ(keys("x", ""), (std::vector<std::string>{std::string(20, 'x'), std::string(20, 'y'),
                                                     std::string(20, 'z')}));
  EXPECT_EQ(keys(std::string(20, 'c'), std::string(20, 'e')).size(), 2U);
  EXPECT_EQ(keys("", "b").size(), 1U);
  EXPECT_EQ(keys("", "", 5).size(), 5U);
  EXPECT_TRUE(keys("{", "").empty());
  EXPECT_TRUE(keys("", "", 0).empty());
}

// What a map does with the same changes.
TEST_F(TreeTest, DoesWhatAMapDoes) {
  SplitMix64 dice(11);
  Map model;
  for (int round = 0; round < 120; ++round) {
    std::map<std::string, std::optional<std::string>> drawn;
    const std::uint64_t count = dice.next() % (round % 10 == 0 ? 400 : 30);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string key = "key" + std::to_string(dice.next() % 500);
      const bool goes = dice.next() % 3 == 0 || (round > 100 && dice.next() % 3 > 0);
      if (goes) {
        drawn[key] = std::nullopt;
      } else {
        drawn[key] = std::string(dice.next() % 60, static_cast<char>('a' + round % 26));
      }
    }
    std::vector<Change> changes;
    for (auto& [key, value] : drawn) {
      changes.push_back({key, value});
      if (value) {
        model[key] = *value;
      } else {
        model.erase(key);
      }
    }
    apply(changes);
    ASSERT_EQ(all(), model) << "round " << round;
    const std::string some = "key" + std::to_string(dice.next() % 500);
    const auto found = model.find(some);
    EXPECT_EQ(value_of(some), found == model.end() ? std::nullopt : std::optional(found->second));
  }
}

TEST_F(TreeTest, AChangeWritesOnlyWhatItTouches) {
  SplitMix64 dice(5);
  std::vector<Change> many;
  for (int number = 100'000; number < 120'000; ++number) {
    many.push_back(
        {std::to_string(number), std::to_string(dice.next()) + std::to_string(dice.next())});
  }
  apply(many, 4'096);
  const std::size_t whole = stored();
  apply({{"110000", "changed"}}, 4'096);
  EXPECT_LT((stored() - whole) * 20, whole);
  EXPECT_EQ(value_of("110000"), "changed");
}

TEST_F(TreeTest, EarlierRootsGoOnToBeRead) {
  apply({{"a", "1"}, {"b", "2"}});
  const Tree earlier = tree_;
  apply({{"a", "3"}, {"b", std::nullopt}});
  tree_ = earlier;
  EXPECT_EQ(value_of("a"), "1");
  EXPECT_EQ(value_of("b"), "2");
}

TEST_F(TreeTest, FillsSeveralBundles) {
  std::vector<Change> changes;
  SplitMix64 dice(5);
  for (int number = 100'000; number < 120'000; ++number) {
    std::string value;
    for (int i = 0; i < 64; ++i) value += std::to_string(dice.next());
    changes.push_back({std::to_string(number), value});
  }
  apply(changes, 65'536);
  EXPECT_GT(pages_.bundles().size(), 1U);
  EXPECT_EQ(all().size(), 20'000U);
  apply({{"100000", "1"}, {"119999", "2"}}, 65'536);
  EXPECT_EQ(value_of("100000"), "1");
  EXPECT_EQ(value_of("119999"), "2");
  EXPECT_EQ(all().size(), 20'000U);
}

// Somebody else's index may have whole pages that make no tree: who goes down would meet a page
// that many branches have as often as there are ways to it.
TEST_F(TreeTest, APageStandsAtOnePlaceOnly) {
  PageBuilder leaf(0);
  leaf.add("m", "1");
  const PageRef shared = add(leaf);
  const auto tree_over = [&](const std::vector<std::string>& keys) {
    PageBuilder branch(1);
    for (const std::string& key : keys) branch.add(key, encode_ref(shared));
    return Tree(TreeRoot{add(branch), 1});
  };
  const auto scanned = [this](const Tree& tree) {
    return loop_->block_on(scan(pages_, tree, "", "", 100));
  };
  EXPECT_EQ(MUST(scanned(tree_over({"m"}))).size(), 1U);
  EXPECT_EQ(MUST(scanned(tree_over({"a"}))).size(), 1U);
  for (const auto& keys : {std::vector<std::string>{"a", "b"}, {"m", "n"}, {"z"}}) {
    EXPECT_EQ(scanned(tree_over(keys)).error().code, Errc::kCorrupt) << keys.front();
  }
  const auto found = loop_->block_on(find(pages_, tree_over({"a", "b"}), "a"));
  EXPECT_EQ(found.error().code, Errc::kCorrupt);
}

// Also where it is the last one below branches of its own.
TEST_F(TreeTest, APageStandsBelowOneBranchOnly) {
  PageBuilder leaf(0);
  leaf.add("z", "1");
  const PageRef shared = add(leaf);
  PageBuilder top(2);
  for (const std::string& key : {std::string("a"), std::string("b")}) {
    PageBuilder branch(1);
    branch.add(key, encode_ref(shared));
    top.add(key, encode_ref(add(branch)));
  }
  const Tree tree(TreeRoot{add(top), 2});
  EXPECT_EQ(loop_->block_on(scan(pages_, tree, "", "", 100)).error().code, Errc::kCorrupt);
}

TEST_F(TreeTest, ADamagedPageIsAnError) {
  apply({{"a", "1"}});
  std::string& bundle = pages_.bundles().begin()->second;
  bundle.back() = static_cast<char>(bundle.back() ^ 1);
  const Result<std::optional<std::string>> value = loop_->block_on(find(pages_, tree_, "a"));
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().code, Errc::kCorrupt);
  EXPECT_NE(value.error().message.find("i/"), std::string::npos);
}

}  // namespace
}  // namespace runnel::volume
