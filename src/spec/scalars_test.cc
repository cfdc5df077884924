#include "spec/scalars.h"

#include <limits>

#include <gtest/gtest.h>

#include "model/node.h"
#include "spec/parameters.h"

namespace runnel::spec {
namespace {

// Reads `text` as the value of a file's only field; tells the value or the first error.
class Reading {
 public:
  explicit Reading(std::string text) : text_(std::move(text)), root_(MUST(read_yaml(text_, "f"))) {}

  template <typename Reader>
  auto operator()(const Reader& reader) {
    return reader(scope_, Item{root_.get(), "x"});
  }
  std::string error() {
    std::vector<Error> errors = faults_.take();
    return errors.empty() ? "" : errors.front().message;
  }

 private:
  std::string text_;
  YamlNodePtr root_;
  Diagnostics faults_{"f", text_};
  Scope scope_{faults_, {{"N", "3"}, {"WORD", "a b"}}, {}};
};

template <typename Reader>
std::string reader_error_of(const char* text, const Reader& reader) {
  Reading reading(text);
  EXPECT_FALSE(reading(reader).has_value()) << text;
  return reading.error();
}

const auto kCount = [](Scope& scope, const Item& item) {
  return read_count(scope, item, {1, 100});
};
const auto kMemory = [](Scope& scope, const Item& item) {
  return read_bytes(scope, item, Bytes::mebi(1));
};
const auto kTime = [](Scope& scope, const Item& item) {
  return read_duration(scope, item, Duration::seconds(1));
};

TEST(Scalars, Integers) {
  EXPECT_EQ(integer_of("0"), 0);
  EXPECT_EQ(integer_of("010"), 10);
  EXPECT_EQ(integer_of("+7"), 7);
  EXPECT_EQ(integer_of("-7"), -7);
  EXPECT_EQ(integer_of("0x1F"), 31);
  EXPECT_EQ(integer_of("0o17"), 15);
  EXPECT_EQ(integer_of("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* text :
       {"", "-", "+-1", "--1", "1.0", "1e3", "0x", "0o8", "1_000", " 1", "9223372036854775808"}) {
    EXPECT_FALSE(integer_of(text).has_value()) << text;
  }
}

TEST(Scalars, Decimals) {
  EXPECT_EQ(scaled_decimal("0.5", 3), 500);
  EXPECT_EQ(scaled_decimal("16", 3), 16'000);
  EXPECT_EQ(scaled_decimal("1.125", 3), 1125);
  for (const char* text :
       {"", ".", ".5", "1.", "1.1234", "1..2", "1,5", "-1", "1e2", "99999999999999999999"}) {
    EXPECT_FALSE(scaled_decimal(text, 3).has_value()) << text;
  }
}

TEST(Scalars, Counts) {
  EXPECT_EQ(Reading("4")(kCount), 4);
  EXPECT_EQ(Reading("'4'")(kCount), 4);
  EXPECT_EQ(Reading("${N}")(kCount), 3);
  EXPECT_EQ(reader_error_of("4+", kCount), "the range '4+' is not in this version");
  EXPECT_EQ(reader_error_of("4..", kCount), "the range '4..' is not in this version");
  EXPECT_EQ(reader_error_of("4..8", kCount), "the range '4..8' is not in this version");
  EXPECT_EQ(reader_error_of("0", kCount), "0 is too small");
  EXPECT_EQ(reader_error_of("101", kCount), "101 is too large");
  EXPECT_EQ(reader_error_of("1.5", kCount), "'1.5' is not a whole number");
  EXPECT_EQ(reader_error_of("[1]", kCount), "one value belongs here, and this is a list");
}

TEST(Scalars, Cpus) {
  EXPECT_EQ(Reading("0.5")(read_cpus), 500);
  EXPECT_EQ(Reading("16+")(read_cpus), 16'000);
  EXPECT_EQ(Reading("16..")(read_cpus), 16'000);
  EXPECT_EQ(reader_error_of("0", read_cpus), "'0' is not a number of cpus");
  EXPECT_EQ(reader_error_of("500m", read_cpus), "'500m' is not a number of cpus");
  EXPECT_EQ(reader_error_of("0.0001", read_cpus), "'0.0001' is not a number of cpus");
  EXPECT_EQ(reader_error_of("1..2", read_cpus), "the range '1..2' is not in this version");
}

TEST(Scalars, Memory) {
  EXPECT_EQ(Reading("24GB")(kMemory), Bytes::count(24'000'000'000));
  EXPECT_EQ(Reading("24GiB+")(kMemory), Bytes::gibi(24));
  EXPECT_EQ(Reading("24GiB..")(kMemory), Bytes::gibi(24));
  EXPECT_EQ(Reading("2")(kMemory), Bytes::count(2'000'000'000));
  EXPECT_EQ(reader_error_of("1KB", kMemory), "'1KB' is too little");
  EXPECT_EQ(reader_error_of("1000PB", kMemory), "'1000PB' is too much");
  EXPECT_EQ(reader_error_of("-1GB", kMemory), "'-1GB' is not an amount of bytes");
}

TEST(Scalars, Times) {
  EXPECT_EQ(Reading("1h30m")(kTime), Duration::minutes(90));
  EXPECT_EQ(reader_error_of("90", kTime), "'90' is not a length of time: it has no unit");
  EXPECT_EQ(reader_error_of("10ms", kTime), "'10ms' is too short");
  EXPECT_EQ(reader_error_of("50000d", kTime), "'50000d' is too long");
  const DurationRange range = *Reading("30s..10m")(read_durations);
  EXPECT_EQ(range.low, Duration::seconds(30));
  EXPECT_EQ(range.high, Duration::minutes(10));
  EXPECT_EQ(Reading("30s")(read_durations)->high, Duration::seconds(30));
  EXPECT_EQ(reader_error_of("30s..", read_durations), "'' is not a length of time");
  EXPECT_EQ(reader_error_of("30..60", read_durations),
            "'30' is not a length of time: it has no unit");
}

TEST(Scalars, Booleans) {
  EXPECT_EQ(Reading("true")(read_boolean), true);
  EXPECT_EQ(Reading("False")(read_boolean), false);
  EXPECT_EQ(reader_error_of("yes", read_boolean), "'yes' is neither true nor false");
}

TEST(Scalars, Devices) {
  EXPECT_EQ(Reading("H100:8")(read_accelerators), (Accelerators{{"H100", 8}}));
  EXPECT_EQ(Reading("H100")(read_accelerators), (Accelerators{{"H100", 1}}));
  EXPECT_EQ(Reading("{H100: 8, L4: 1}")(read_accelerators), (Accelerators{{"H100", 8}, {"L4", 1}}));
  EXPECT_EQ(reader_error_of("8", read_accelerators), "'8' does not name a device");
  EXPECT_EQ(reader_error_of("A100:0.5", read_accelerators),
            "the fraction '0.5' of a device is not in this version");
  EXPECT_EQ(reader_error_of("24GB+:1", read_accelerators),
            "a device by its memory '24GB+' is not in this version");
  EXPECT_EQ(reader_error_of("H100:1..2", read_accelerators),
            "the range '1..2' is not in this version");
  EXPECT_EQ(reader_error_of("H100:0", read_accelerators), "0 is too small");
  EXPECT_EQ(reader_error_of("'H 100:1'", read_accelerators), "'H 100' is not the name of a device");
  EXPECT_EQ(reader_error_of("[H100:1, L4:1]", read_accelerators),
            "a list of alternatives is not in this version");
}

TEST(Scalars, VariablesAreFilledOnce) {
  EXPECT_EQ(Reading("a-${N}-${WORD}")(read_text), "a-3-a b");
  EXPECT_EQ(Reading("$N $ $$ $${N} ${")(read_text), "$N $ $$ ${N} ${");
  EXPECT_EQ(Reading("${N}")(read_verbatim), "${N}");
  EXPECT_EQ(reader_error_of("${M}", read_text), "'${M}' is not declared in `envs`");
  EXPECT_EQ(reader_error_of("${}", read_text), "'${}' is not declared in `envs`");
}

TEST(Scalars, Money) {
  const auto reader = [](Scope& scope, const Item& item) { return read_money(scope, item); };
  EXPECT_EQ(Reading("2.5")(reader), Money::micros(2'500'000));
  EXPECT_EQ(Reading("0")(reader), Money());
  EXPECT_EQ(Reading("1000000")(reader), model::kPriceMax);
  EXPECT_EQ(reader_error_of("1000000.5", reader), "'1000000.5' is more than a million dollars");
  EXPECT_EQ(reader_error_of("$2", reader), "'$2' is not an amount of dollars");
}

TEST(Parameters, DecimalsTakeTheFormOfJson) {
  EXPECT_EQ(decimal_text("1e-4"), "1e-4");
  EXPECT_EQ(decimal_text("0.10"), "0.10");
  EXPECT_EQ(decimal_text(".5"), "0.5");
  EXPECT_EQ(decimal_text("1."), "1");
  EXPECT_EQ(decimal_text("+007"), "7");
  EXPECT_EQ(decimal_text("-0"), "-0");
  EXPECT_EQ(decimal_text("1E+5"), "1e5");
  for (const char* text : {"", ".", "e5", "1e", "1e+", "nan", "inf", "1e999", "1x", "0x1F", "1 "}) {
    EXPECT_FALSE(decimal_text(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace runnel::spec
