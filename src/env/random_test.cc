#include "env/random.h"

#include <set>

#include <gtest/gtest.h>

#include "env/testing/seeded_random.h"

namespace runnel::env {
namespace {

TEST(RealRandom, DoesNotRepeat) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(real_random().next());
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(SeededRandom, RepeatsItsSeed) {
  testing::SeededRandom a(1);
  testing::SeededRandom b(1);
  testing::SeededRandom c(2);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
  EXPECT_EQ(testing::SeededRandom(0).next(), 0xE220A8397B1DCDAFU);
}

TEST(RandomHex, HasTheAskedNumberOfDigits) {
  testing::SeededRandom random(1);
  for (const std::size_t digits : {0U, 1U, 16U, 17U, 32U}) {
    const std::string text = random_hex(random, digits);
    EXPECT_EQ(text.size(), digits);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
  EXPECT_NE(random_hex(real_random(), 32), random_hex(real_random(), 32));
}

}  // namespace
}  // namespace runnel::env
