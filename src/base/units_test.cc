#include "base/units.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace runnel {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

std::int64_t millis_of(std::string_view text) { return MUST(parse_duration(text)).millis(); }
std::int64_t bytes_of(std::string_view text) { return MUST(parse_bytes(text)).count(); }
std::string error_of(std::string_view text) { return parse_duration(text).error().to_string(); }

TEST(Duration, ReadsWhatPeopleWrite) {
  EXPECT_EQ(millis_of("90s"), 90'000);
  EXPECT_EQ(millis_of("1h30m"), 5'400'000);
  EXPECT_EQ(millis_of("2d"), 172'800'000);
  EXPECT_EQ(millis_of("500ms"), 500);
  EXPECT_EQ(millis_of("1m500ms"), 60'500);
  EXPECT_EQ(millis_of("0s"), 0);
  EXPECT_EQ(millis_of("1.5h"), 5'400'000);
  EXPECT_EQ(millis_of("0.25s"), 250);
}

TEST(Duration, RefusesABareNumberAndSaysBothReadings) {
  const Error error = parse_duration("90").error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.value, "90");
  EXPECT_EQ(
      error.to_string(),
      "'90' is not a length of time: it has no unit; write 90s for seconds or 90m for minutes");
}

TEST(Duration, RefusesWhatIsNotALengthOfTime) {
  for (const char* text : {"", "s", "-1s", "1x", "1 s", "30m1h", "1s1s", "1h30", "1..5s", "1.s",
                           ".5s", "1.0001s", "1h 30m", "1S", "0x10s", "1e3s", "+1s"}) {
    const Result<Duration> read = parse_duration(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, Errc::kInvalid) << text;
    EXPECT_FALSE(read.error().hint.empty()) << text;
  }
}

TEST(Duration, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(parse_duration("100000000d").ok());
  EXPECT_NE(error_of("100000001d").find("that fits"), std::string::npos);
  EXPECT_FALSE(parse_duration("9223372036854775807ms").ok());
  EXPECT_FALSE(parse_duration("99999999999999999999999999s").ok());
}

TEST(Duration, PrintsTheNaturalForm) {
  EXPECT_EQ(to_string(Duration::seconds(90)), "90s");
  EXPECT_EQ(to_string(Duration::minutes(90)), "1h30m");
  EXPECT_EQ(to_string(Duration::minutes(2)), "2m");
  EXPECT_EQ(to_string(Duration::millis(250)), "250ms");
  EXPECT_EQ(to_string(Duration::millis(1500)), "1500ms");
  EXPECT_EQ(to_string(Duration::millis(61'500)), "61s500ms");
  EXPECT_EQ(to_string(Duration()), "0s");
  EXPECT_EQ(to_string(Duration::hours(36)), "1d12h");
  EXPECT_EQ(to_string(Duration::seconds(-90)), "-90s");
}

TEST(Duration, PrintAndReadIsTheIdentity) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto millis = static_cast<std::int64_t>(random() >> (12 + random() % 52));
    const Duration duration = Duration::millis(millis);
    if (duration > Duration::hours(24) * 100'000'000) continue;
    const std::string text = to_string(duration);
    ASSERT_EQ(MUST(parse_duration(text)), duration) << text;
  }
}

TEST(Duration, PrintsTheExtremes) {
  EXPECT_FALSE(to_string(Duration::millis(kInt64Max)).empty());
  EXPECT_TRUE(to_string(Duration::millis(kInt64Min)).starts_with("-"));
  EXPECT_TRUE(human(Duration::millis(kInt64Min)).starts_with("-"));
}

TEST(Duration, RoundsForPeople) {
  EXPECT_EQ(human(Duration::millis(230)), "230 ms");
  EXPECT_EQ(human(Duration::millis(3'210)), "3.2 s");
  EXPECT_EQ(human(Duration::millis(59'949)), "59.9 s");
  EXPECT_EQ(human(Duration::millis(59'950)), "1 min 00 s");
  EXPECT_EQ(human(Duration::seconds(245)), "4 min 05 s");
  EXPECT_EQ(human(Duration::minutes(64)), "1 h 04 min");
  EXPECT_EQ(human(Duration::millis(86'399'999)), "1 d 00 h");
  EXPECT_EQ(human(Duration::hours(51)), "2 d 03 h");
  EXPECT_EQ(human(Duration()), "0 ms");
}

TEST(Duration, AddsAndCompares) {
  EXPECT_EQ(Duration::seconds(1) + Duration::millis(5), Duration::millis(1005));
  EXPECT_EQ(Duration::seconds(2) * 3, Duration::seconds(6));
  EXPECT_LT(Duration::seconds(1) - Duration::seconds(2), Duration());
  EXPECT_EQ(Time::from_millis(5) + Duration::millis(2), Time::from_millis(7));
  EXPECT_EQ(Time::from_millis(5) - Time::from_millis(2), Duration::millis(3));
}

TEST(Bytes, ReadsDecimalAndBinaryUnits) {
  EXPECT_EQ(bytes_of("24GB"), 24'000'000'000);
  EXPECT_EQ(bytes_of("24GiB"), std::int64_t{24} << 30);
  EXPECT_EQ(bytes_of("512M"), 512'000'000);
  EXPECT_EQ(bytes_of("512Mi"), 512 << 20);
  EXPECT_EQ(bytes_of("512mb"), 512'000'000);
  EXPECT_EQ(bytes_of("1.5GiB"), 3 * (std::int64_t{1} << 29));
  EXPECT_EQ(bytes_of("1.5 GiB"), 3 * (std::int64_t{1} << 29));
  EXPECT_EQ(bytes_of("17B"), 17);
  EXPECT_EQ(bytes_of("0"), 0);
  EXPECT_EQ(bytes_of("3"), 3'000'000'000);
  EXPECT_EQ(bytes_of("0.5"), 500'000'000);
  EXPECT_EQ(bytes_of("0.3KiB"), 307);
}

TEST(Bytes, RefusesWhatIsNotAnAmount) {
  for (const char* text :
       {"", "GB", "12 bananas", "-1GB", "1 GB ", "1  GB", "1,5GB", "1GBB", "0x1GB", "9000PiB",
        "99999999999999999999GB", "1.2.3GB", "1.GB", "nan"}) {
    const Result<Bytes> read = parse_bytes(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().value, text);
    EXPECT_FALSE(read.error().hint.empty()) << text;
  }
  EXPECT_EQ(parse_bytes("12 bananas").error().to_string(),
            "'12 bananas' is not an amount of bytes; write 24GB, 24GiB or 512MB");
}

TEST(Bytes, PrintsTheLargestUnitThatDivides) {
  EXPECT_EQ(to_string(Bytes::gibi(24)), "24GiB");
  EXPECT_EQ(to_string(Bytes::count(1'500'000'000)), "1500MB");
  EXPECT_EQ(to_string(Bytes::count(17)), "17B");
  EXPECT_EQ(to_string(Bytes()), "0B");
  EXPECT_EQ(to_string(Bytes::kibi(1)), "1KiB");
}

TEST(Bytes, PrintAndReadIsTheIdentity) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000; ++i) {
    std::int64_t count = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    if (i % 2 == 0) count -= count % 1'000'000;
    const std::string text = to_string(Bytes::count(count));
    ASSERT_EQ(bytes_of(text), count) << text;
  }
}

TEST(Bytes, RoundsForPeople) {
  EXPECT_EQ(human(Bytes::count(1023)), "1023 B");
  EXPECT_EQ(human(Bytes::mebi(1536)), "1.5 GiB");
  EXPECT_EQ(human(Bytes::gibi(24)), "24.0 GiB");
  EXPECT_EQ(human(Bytes::gibi(512)), "512 GiB");
  EXPECT_EQ(human(Bytes::count((std::int64_t{1} << 30) - 1)), "1.0 GiB");
  EXPECT_EQ(human(Bytes::count(kInt64Max)), "8.0 EiB");
  EXPECT_EQ(human(Bytes::count(-2048)), "-2.0 KiB");
}

TEST(Time, PrintsRfc3339) {
  EXPECT_EQ(rfc3339(Time()), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(Time::from_millis(1'795'269'928'123)), "2026-11-21T14:05:28.123Z");
  EXPECT_EQ(rfc3339(Time::from_millis(-1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(rfc3339(Time::from_millis(kInt64Max)), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(rfc3339(Time::from_millis(kInt64Min)), "0000-01-01T00:00:00.000Z");
}

TEST(Time, ReadsOffsetsAndFractions) {
  EXPECT_EQ(MUST(parse_rfc3339("2026-11-21T14:05:28.123Z")), Time::from_millis(1'795'269'928'123));
  EXPECT_EQ(MUST(parse_rfc3339("2026-11-21T15:35:28.123456+01:30")),
            Time::from_millis(1'795'269'928'123));
  EXPECT_EQ(MUST(parse_rfc3339("1969-12-31T23:00:00-01:00")), Time());
  EXPECT_EQ(MUST(parse_rfc3339("1970-01-01t00:00:01.5z")), Time::from_millis(1500));
}

TEST(Time, RefusesWhatIsNotATime) {
  for (const char* text :
       {"", "2026-11-21", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+25:00", "2026-01-01T00:00:00Zx",
        "26-01-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_rfc3339(text).ok()) << text;
  }
}

TEST(Time, PrintAndReadIsTheIdentity) {
  std::mt19937_64 random(3);
  std::uniform_int_distribution<std::int64_t> any(-62'167'219'200'000, 253'402'300'799'999);
  for (int i = 0; i < 20'000; ++i) {
    const Time time = Time::from_millis(any(random));
    ASSERT_EQ(MUST(parse_rfc3339(rfc3339(time))), time) << rfc3339(time);
  }
}

TEST(Bytes, EveryUnitInEveryWritingHasItsSize) {
  struct Row {
    const char* unit;
    std::int64_t size;
  };
  const Row rows[] = {{"B", 1},
                      {"K", 1000},
                      {"KB", 1000},
                      {"kb", 1000},
                      {"Ki", 1024},
                      {"KiB", 1024},
                      {"M", 1'000'000},
                      {"MB", 1'000'000},
                      {"Mi", 1 << 20},
                      {"MiB", 1 << 20},
                      {"mib", 1 << 20},
                      {"G", 1'000'000'000},
                      {"GB", 1'000'000'000},
                      {"Gi", 1 << 30},
                      {"GiB", 1 << 30},
                      {"T", 1'000'000'000'000},
                      {"TB", 1'000'000'000'000},
                      {"Ti", std::int64_t{1} << 40},
                      {"TiB", std::int64_t{1} << 40},
                      {"P", 1'000'000'000'000'000},
                      {"PB", 1'000'000'000'000'000},
                      {"Pi", std::int64_t{1} << 50},
                      {"PiB", std::int64_t{1} << 50}};
  for (const Row& row : rows) {
    EXPECT_EQ(bytes_of(std::string("1") + row.unit), row.size) << row.unit;
    EXPECT_EQ(bytes_of(std::string("7 ") + row.unit), 7 * row.size) << row.unit;
    const std::int64_t most = kInt64Max / row.size;
    EXPECT_EQ(bytes_of(std::to_string(most - 9) + row.unit), (most - 9) * row.size) << row.unit;
    if (row.size == 1) continue;
    EXPECT_FALSE(parse_bytes(std::to_string(most + 1) + row.unit).ok()) << row.unit;
  }
}

TEST(Bytes, FractionsAreExactToTheByte) {
  EXPECT_EQ(bytes_of("0.000000001GB"), 1);
  EXPECT_EQ(bytes_of("1.999999999GB"), 1'999'999'999);
  EXPECT_EQ(bytes_of("0.5B"), 0);
  EXPECT_FALSE(parse_bytes("0.00000000001GB").ok());  // More digits than are read.
}

TEST(Bytes, HumanFormNeverReachesTheNextUnit) {
  for (int shift = 10; shift < 60; ++shift) {
    for (std::int64_t off = -2; off <= 2; ++off) {
      const std::string text = human(Bytes::count((std::int64_t{1} << shift) + off));
      EXPECT_EQ(text.find("1024 "), std::string::npos) << text;
      EXPECT_LE(text.size(), 8U) << text;
    }
  }
}

TEST(Duration, HumanFormNeverReachesTheNextUnit) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text =
        human(Duration::millis(static_cast<std::int64_t>(random() >> (20 + i % 40))));
    EXPECT_EQ(text.find("60 s"), std::string::npos) << text;
    EXPECT_EQ(text.find("60 min"), std::string::npos) << text;
    EXPECT_EQ(text.find(" 24 h"), std::string::npos) << text;
    EXPECT_EQ(text.find("1000 ms"), std::string::npos) << text;
  }
}

// Any text is either refused with a hint, or reads as something that prints and reads the same.
TEST(Units, NoTextIsReadTwoWays) {
  constexpr std::string_view kLetters = "0123456789.dhmsGiBMK T-+:Z";
  std::mt19937 random(11);
  int read = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (std::size_t size = random() % 8; size > 0; --size)
      text += kLetters[random() % kLetters.size()];
    if (const Result<Duration> duration = parse_duration(text); duration.ok()) {
      ASSERT_EQ(MUST(parse_duration(to_string(*duration))), *duration) << text;
      ++read;
    } else {
      ASSERT_FALSE(duration.error().hint.empty()) << text;
    }
    if (const Result<Bytes> bytes = parse_bytes(text); bytes.ok()) {
      ASSERT_EQ(MUST(parse_bytes(to_string(*bytes))), *bytes) << text;
      ++read;
    } else {
      ASSERT_FALSE(bytes.error().hint.empty()) << text;
    }
  }
  EXPECT_GT(read, 500);
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in(int month, int year) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

std::string padded(int value, std::size_t width) {
  const std::string digits = std::to_string(value);
  return std::string(width - digits.size(), '0') + digits;
}

// Counts the days of 450 years one by one.
TEST(Time, KnowsTheCalendar) {
  std::int64_t day = 0;
  for (int year = 1970; year < 2420; ++year) {
    for (int month = 1; month <= 12; ++month) {
      const std::string prefix = padded(year, 4) + "-" + padded(month, 2) + "-";
      for (int date = 1; date <= days_in(month, year); ++date, ++day) {
        const std::string text = prefix + padded(date, 2) + "T00:00:00.000Z";
        ASSERT_EQ(rfc3339(Time::from_millis(day * 86'400'000)), text);
      }
      const std::string beyond = prefix + padded(days_in(month, year) + 1, 2) + "T00:00:00Z";
      ASSERT_FALSE(parse_rfc3339(beyond).ok()) << beyond;
    }
  }
}

TEST(Micros, AreWholeMicroseconds) {
  EXPECT_EQ(Micros().count(), 0);
  EXPECT_TRUE(Micros().is_zero());
  EXPECT_FALSE(Micros::count(1).is_zero());
  EXPECT_EQ(Micros::count(1'500).count(), 1'500);
  EXPECT_LT(Micros::count(999), Micros::count(1'000));
}

TEST(Micros, OfADurationAndBackRoundDown) {
  EXPECT_EQ(Micros::of(Duration::millis(3)), Micros::count(3'000));
  EXPECT_EQ(Micros::count(3'999).in_millis(), Duration::millis(3));
  EXPECT_EQ(Micros::count(999).in_millis(), Duration());
}

TEST(Micros, AddAndDivide) {
  EXPECT_EQ(Micros::count(700) + Micros::count(800), Micros::count(1'500));
  EXPECT_EQ(Micros::count(7) / 2, Micros::count(3)) << "rounded down, as a mean of integers is";
}

TEST(Money, ComparesAndSubtractsExactly) {
  EXPECT_LT(Money::nanos(999), Money::micros(1));
  EXPECT_EQ(Money::dollars(1) - Money::nanos(1), Money::nanos(999'999'999));
  EXPECT_EQ((Money::dollars(1) - Money::nanos(1)).micros(), 999'999) << "rounded down";
}

TEST(Money, IsCountedInBillionthsOfADollar) {
  static_assert(Money::dollars(2) == Money::micros(2'000'000));
  static_assert(Money::micros(3) == Money::nanos(3'000));
  static_assert(Money::nanos(1'999).micros() == 1);
  static_assert(Money::micros(5) - Money::nanos(1) + Money::nanos(2) > Money::micros(5));
  EXPECT_TRUE(Money().is_zero());
  EXPECT_FALSE(Money::nanos(1).is_zero());
  EXPECT_EQ(dollars(Money()), "0.000000");
  EXPECT_EQ(dollars(Money::nanos(1'999)), "0.000001");
  EXPECT_EQ(dollars(Money::micros(1'250'000)), "1.250000");
  EXPECT_EQ(dollars(Money::dollars(1'000'000)), "1000000.000000");
}

TEST(Micros, AreShorterThanADuration) {
  static_assert(Micros::of(Duration::millis(2)) == Micros::count(2'000));
  static_assert(Micros::count(2'999).in_millis() == Duration::millis(2));
  static_assert((Micros::count(1) + Micros::count(4)) / 2 == Micros::count(2));
  static_assert(Micros::count(1) < Micros::count(2));
  EXPECT_TRUE(Micros().is_zero());
}

}  // namespace
}  // namespace runnel
