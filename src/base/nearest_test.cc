#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace runnel {
namespace {

constexpr std::array<std::string_view, 6> kFields = {"resources",  "retry",  "run",
                                                     "depends_on", "params", "command"};

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("resource", kFields), "resources");
  EXPECT_EQ(nearest("resoruces", kFields), "resources");
  EXPECT_EQ(nearest("depend_on", kFields), "depends_on");
  EXPECT_EQ(nearest("comand", kFields), "command");
  EXPECT_EQ(nearest("rnu", kFields), "run");
  EXPECT_EQ(nearest("prams", kFields), "params");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("zzzzz", kFields), "");
  EXPECT_EQ(nearest("x", kFields), "");
  EXPECT_EQ(nearest("", kFields), "");
  EXPECT_EQ(nearest("run", {}), "");
  EXPECT_EQ(nearest(std::string(1000, 'r'), kFields), "");
}

TEST(Nearest, OneLetterIsNoSimilarity) {
  constexpr std::array<std::string_view, 2> kShort = {"a", "b"};
  EXPECT_EQ(nearest("c", kShort), "");
  EXPECT_EQ(nearest("ab", kShort), "a");
}

TEST(Nearest, TakesTheClosestAndThenTheFirst) {
  constexpr std::array<std::string_view, 3> kWords = {"gates", "gate", "grate"};
  EXPECT_EQ(nearest("gate", kWords), "gate");
  EXPECT_EQ(nearest("gats", kWords), "gates");
}

TEST(Nearest, ASwapCountsOnce) {
  constexpr std::array<std::string_view, 1> kWord = {"abc"};
  EXPECT_EQ(nearest("acb", kWord), "abc");
  EXPECT_EQ(nearest("cab", kWord), "");
}

// The definition, without any cleverness: what it costs to turn `a` into `b`.
std::size_t distance_by_definition(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::size_t cost = a.back() == b.back() ? 0 : 1;
  const std::string_view shorter_a = a.substr(0, a.size() - 1);
  const std::string_view shorter_b = b.substr(0, b.size() - 1);
  std::size_t best =
      std::min({distance_by_definition(shorter_a, b) + 1, distance_by_definition(a, shorter_b) + 1,
                distance_by_definition(shorter_a, shorter_b) + cost});
  const bool swapped =
      a.size() > 1 && b.size() > 1 && a.back() == b[b.size() - 2] && b.back() == a[a.size() - 2];
  if (swapped) {
    best = std::min(
        best, distance_by_definition(a.substr(0, a.size() - 2), b.substr(0, b.size() - 2)) + 1);
  }
  return best;
}

std::string random_word(std::mt19937& random, std::size_t length_max) {
  std::string word(1 + random() % length_max, 'a');
  for (char& c : word) c = static_cast<char>('a' + random() % 3);
  return word;
}

TEST(NearestProperty, AgreesWithTheDefinitionOfTheDistance) {
  std::mt19937 random(1);
  for (int i = 0; i < 600; ++i) {
    const std::string word = random_word(random, 6);
    const std::vector<std::string> names = {random_word(random, 6), random_word(random, 6),
                                            random_word(random, 6)};
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    std::string expected;
    std::size_t expected_distance = 100;
    for (const std::string& name : names) {
      const std::size_t longer = std::max(word.size(), name.size());
      const std::size_t found = distance_by_definition(word, name);
      const bool near = found <= std::max<std::size_t>(1, longer / 3) && found < longer;
      if (!near || found >= expected_distance) continue;
      expected = name;
      expected_distance = found;
    }
    ASSERT_EQ(nearest(word, candidates), expected) << word;
  }
}

TEST(NearestProperty, EverySingleSlipOfAFieldIsUnderstood) {
  for (const std::string_view field : kFields) {
    for (std::size_t at = 0; at < field.size(); ++at) {
      std::string dropped(field);
      dropped.erase(at, 1);
      std::string doubled(field);
      doubled.insert(at, 1, field[at]);
      std::string replaced(field);
      replaced[at] = 'q';
      EXPECT_EQ(nearest(dropped, kFields), field) << dropped;
      EXPECT_EQ(nearest(doubled, kFields), field) << doubled;
      EXPECT_EQ(nearest(replaced, kFields), field) << replaced;
      if (at == 0) continue;
      std::string swapped(field);
      std::swap(swapped[at], swapped[at - 1]);
      EXPECT_EQ(nearest(swapped, kFields), field) << swapped;
    }
  }
}

}  // namespace
}  // namespace runnel
