#include "base/binary.h"

#include <limits>

#include <gtest/gtest.h>

namespace runnel {
namespace {

TEST(Wire, CarriesIntegersAndText) {
  constexpr std::int64_t kValues[] = {0,
                                      1,
                                      -1,
                                      63,
                                      -64,
                                      64,
                                      300,
                                      -70'000,
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min()};
  std::string bytes;
  Encoder out(bytes);
  for (const std::int64_t value : kValues) out.integer(value);
  out.natural(std::numeric_limits<std::uint64_t>::max()).byte(7).text("").text("some text");
  Decoder in(bytes);
  for (const std::int64_t value : kValues) EXPECT_EQ(in.integer(), value);
  EXPECT_EQ(in.natural(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(in.byte(), 7);
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.text(), "some text");
  EXPECT_TRUE(in.complete());
}

TEST(Wire, SmallIntegersAreOneByte) {
  std::string bytes;
  Encoder(bytes).integer(-64).integer(63).natural(127);
  EXPECT_EQ(bytes.size(), 3U);
}

TEST(Wire, ReadingPastTheEndFailsForGood) {
  Decoder in("\x01");
  EXPECT_EQ(in.byte(), 1);
  EXPECT_FALSE(in.failed());
  EXPECT_TRUE(in.complete());
  EXPECT_EQ(in.byte(), 0);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.integer(), 0);
  EXPECT_EQ(in.text(), "");
  EXPECT_FALSE(in.complete());
}

TEST(Wire, RefusesNumbersThatAreTooLongOrPadded) {
  Decoder too_long(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10));
  too_long.natural();
  EXPECT_TRUE(too_long.failed());
  Decoder padded(std::string_view("\x81\x00", 2));
  padded.natural();
  EXPECT_TRUE(padded.failed());
}

TEST(Wire, RefusesLengthsThatAreNotThere) {
  std::string bytes;
  Encoder(bytes).natural(1'000'000);
  Decoder text(bytes);
  EXPECT_EQ(text.text(), "");
  EXPECT_TRUE(text.failed());
  Decoder list(bytes);
  EXPECT_EQ(list.count(2'000'000), 0U);
  EXPECT_TRUE(list.failed());
}

TEST(Wire, HoldsLimits) {
  std::string bytes;
  Encoder(bytes).integer(11).text("12345");
  Decoder in(bytes);
  EXPECT_EQ(in.integer_in(0, 10), 0);
  EXPECT_TRUE(in.failed());
  std::string words;
  Encoder(words).text("12345");
  Decoder short_text(words);
  EXPECT_EQ(short_text.text(4), "");
  EXPECT_TRUE(short_text.failed());
  std::string wide;
  Encoder(wide).integer(std::int64_t{1} << 40);
  Decoder narrow(wide);
  EXPECT_EQ(narrow.integer32(), 0);
  EXPECT_TRUE(narrow.failed());
}

TEST(Wire, TheChecksumSeesEveryBit) {
  std::string text = "the record of an attempt";
  const std::uint32_t sum = checksum32(text);
  for (char& c : text) {
    for (int bit = 0; bit < 8; ++bit) {
      c = static_cast<char>(c ^ (1 << bit));
      EXPECT_NE(checksum32(text), sum);
      c = static_cast<char>(c ^ (1 << bit));
    }
  }
}

}  // namespace
}  // namespace runnel
