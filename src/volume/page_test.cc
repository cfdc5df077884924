#include "volume/page.h"

#include <gtest/gtest.h>

#include "base/binary.h"
#include "volume/bundle.h"

namespace runnel::volume {
namespace {

std::string page_of(std::initializer_list<std::pair<std::string, std::string>> entries,
                    std::uint8_t height = 0) {
  PageBuilder builder(height);
  for (const auto& [key, value] : entries) builder.add(key, value);
  return builder.finish();
}

TEST(Page, HoldsItsEntriesInOrder) {
  const Page page = MUST(Page::decode(page_of({{"", "0"}, {"a", "1"}, {"ab", ""}, {"b", "3"}})));
  ASSERT_EQ(page.size(), 4U);
  EXPECT_TRUE(page.is_leaf());
  EXPECT_EQ(page.key(2), "ab");
  EXPECT_EQ(page.value(3), "3");
  EXPECT_EQ(page.lower_bound("aa"), 2U);
  EXPECT_EQ(page.lower_bound("b"), 3U);
  EXPECT_EQ(page.lower_bound("c"), 4U);
}

TEST(Page, KnowsBelowWhichEntryAKeyBelongs) {
  const Page page = MUST(Page::decode(page_of({{"b", "1"}, {"d", "2"}}, 1)));
  EXPECT_EQ(page.child_of("a"), 0U);
  EXPECT_EQ(page.child_of("b"), 0U);
  EXPECT_EQ(page.child_of("c"), 0U);
  EXPECT_EQ(page.child_of("d"), 1U);
  EXPECT_EQ(page.child_of("z"), 1U);
}

TEST(Page, IsTheSameBytesForTheSameEntries) {
  EXPECT_EQ(page_of({{"ab", "1"}, {"abc", "2"}}), std::string("\0\2\0\2ab\1"
                                                              "1\2\1c\1"
                                                              "2",
                                                              13));
}

TEST(Page, RefusesWhatIsNone) {
  const std::string good = page_of({{"a", "1"}, {"b", "2"}});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(Page::decode(good.substr(0, size)).error().code, Errc::kCorrupt) << size;
  }
  EXPECT_FALSE(Page::decode(good + "x").ok());
  std::string unsorted;
  Encoder(unsorted).byte(0).natural(2).natural(0).text("b").text("").natural(0).text("a").text("");
  EXPECT_FALSE(Page::decode(unsorted).ok());
  std::string shares_too_much;
  Encoder(shares_too_much).byte(0).natural(1).natural(1).text("b").text("");
  EXPECT_FALSE(Page::decode(shares_too_much).ok());
}

TEST(PageRef, IsReadAsItWasWritten) {
  PageRef ref;
  ref.bundle = ObjectId::of("bundle", "12345678");
  ref.offset = 300;
  ref.stored = 5;
  ref.length = 70'000;
  ref.sha256 = hash::sha256("page");
  ref.xxh3 = 0x0102030405060708;
  const std::string bytes = encode_ref(ref);
  EXPECT_EQ(MUST(decode_ref(bytes)), ref);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_ref(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_ref(bytes + "x").ok());
  ref.length = 5 << 20;
  EXPECT_FALSE(decode_ref(encode_ref(ref)).ok()) << "no page is that large";
  ref.length = 70'000;
  ref.offset = kBundleBytesMax;
  EXPECT_TRUE(decode_ref(encode_ref(ref)).ok());
  for (const std::uint64_t offset :
       {kBundleBytesMax + std::uint64_t{1}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    ref.offset = offset;
    EXPECT_FALSE(decode_ref(encode_ref(ref)).ok()) << "all before a root is read with it";
  }
}

TEST(ObjectId, HasAFormOfDigits) {
  const ObjectId id = ObjectId::of("abc", "\1\2\3\4\5\6\7\x8f");
  EXPECT_EQ(id.str(), "ba7816bf8f01cfea-010203040506078f");
  EXPECT_EQ(MUST(ObjectId::parse(id.str())), id);
  for (const char* text :
       {"", "ba7816bf8f01cfea", "ba7816bf8f01cfea_010203040506078f",
        "BA7816bf8f01cfea-010203040506078f", "ba7816bf8f01cfea-010203040506078"}) {
    EXPECT_FALSE(ObjectId::parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace runnel::volume
