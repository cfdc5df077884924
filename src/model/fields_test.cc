#include "model/fields.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

enum class Color : std::uint8_t { kRed, kBlue };

std::string_view to_string(Color color) { return color == Color::kRed ? "red" : "blue"; }

Result<Color> parse_color(std::string_view word) {
  if (word == "red") return Color::kRed;
  if (word == "blue") return Color::kBlue;
  return Error(Errc::kInvalid, "no such color");
}

// One field of every form.
struct Sample {
  bool flag = false;
  Color color = Color::kRed;
  std::int32_t small = 0;
  std::int64_t ranged = 5;
  JobId job;
  TaskIndex index;
  Duration wait;
  Bytes size;
  Money price;
  std::string name = "none";
  std::optional<std::int64_t> most;
  std::optional<Time> until;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::int32_t>> pairs;
  std::vector<std::pair<std::string, std::string>> members;
  std::map<std::string, std::int64_t> counts;
  friend bool operator==(const Sample&, const Sample&) = default;
};

// A record inside a record.
struct Outer {
  Sample sample;
  std::vector<Sample> more;
};

}  // namespace

template <>
struct Form<Color> : WordForm<Color, parse_color> {};

template <>
struct Fields<Sample> {
  static void visit(auto& visit, auto& sample) {
    visit("color", sample.color);
    visit("counts", sample.counts, Number{.min = 1, .max = 9});
    visit("flag", sample.flag);
    visit("index", sample.index);
    visit("job", sample.job, Required());
    visit("members", sample.members, AsObject());
    visit("most", sample.most, Number{.min = 1, .max = 10});
    visit("name", sample.name, Text{"none"});
    visit("pairs", sample.pairs);
    visit("price", sample.price, InMillionths{Money::dollars(1)});
    visit("ranged", sample.ranged, Number{.min = -7, .max = 7, .fallback = 5});
    visit("size", sample.size);
    visit("small", sample.small, kAnyNumber);
    visit("until", sample.until);
    visit("wait", sample.wait);
    visit("words", sample.words);
  }
  static Result<void> check(const Sample& sample) {
    if (sample.name != "cursed") return {};
    return Error(Errc::kInvalid, "not this one").with_field("name");
  }
};

template <>
struct Fields<Outer> {
  static void visit(auto& visit, auto& outer) {
    visit("more", outer.more);
    visit("sample", outer.sample, Required());
  }
};

namespace {

template <typename T>
std::string written(const T& value) {
  std::string text;
  json::Writer out(text);
  write_record(out, value);
  return text;
}

template <typename T>
Result<T> read(std::string_view text, std::string_view path = "") {
  return read_record<T>(MUST(json::parse(text)), path);
}

// The field that reading this text complains about; empty when it does not.
template <typename T = Sample>
std::string fault(std::string_view text, std::string_view path = "") {
  const Result<T> result = read<T>(text, path);
  return result.ok() ? "" : result.error().field;
}

Sample full() {
  Sample sample;
  sample.flag = true;
  sample.color = Color::kBlue;
  sample.small = -3;
  sample.ranged = -7;
  sample.job = JobId("j");
  sample.index = TaskIndex(9);
  sample.wait = Duration::seconds(2);
  sample.size = Bytes::kibi(1);
  sample.price = Money::micros(2);
  sample.name = "";
  sample.most = 10;
  sample.until = Time();
  sample.words = {"", "b"};
  sample.pairs = {{"z", 1}, {"a", 0}};
  sample.members = {{"A", "1"}, {"B", ""}};
  sample.counts = {{"x", 1}, {"y", 9}};
  return sample;
}

constexpr std::string_view kFull =
    R"({"color":"blue","counts":{"x":1,"y":9},"flag":true,"index":9,"job":"j",)"
    R"("members":{"A":"1","B":""},"most":10,"name":"","pairs":[["z",1],["a",0]],"price":2,)"
    R"("ranged":-7,"size":1024,"small":-3,"until":0,"wait":2000,"words":["","b"]})";

TEST(Fields, PricesAreStoredInMillionths) {
  EXPECT_EQ(MUST(read<Sample>(R"({"job":"j","price":1000000})")).price, Money::dollars(1));
  EXPECT_EQ(MUST(read<Sample>(R"({"job":"j"})")).price, Money());
  EXPECT_EQ(fault(R"({"job":"j","price":1000001})"), "price");
  EXPECT_EQ(fault(R"({"job":"j","price":-1})"), "price");
  Sample sample;
  sample.price = Money::nanos(1'500);
  EXPECT_DEATH((void)written(sample), "would lose a part");
}

TEST(Fields, EveryFormIsWrittenAsExpectedAndReadBack) {
  EXPECT_EQ(written(full()), kFull);
  EXPECT_EQ(read<Sample>(kFull).value(), full());
}

TEST(Fields, DefaultsAreLeftOutAndComeBack) {
  EXPECT_EQ(written(Sample()), R"({"job":""})");
  EXPECT_EQ(read<Sample>(R"({"job":""})").value(), Sample());
}

// A literal in the list of fields counts, not what the struct says today.
TEST(Fields, ZeroIsWrittenWhereTheDefaultIsNotZero) {
  Sample sample;
  sample.ranged = 0;
  sample.name = "";
  EXPECT_EQ(written(sample), R"({"job":"","name":"","ranged":0})");
  EXPECT_EQ(read<Sample>(written(sample)).value(), sample);
}

TEST(Fields, AnAbsentOptionalIsNotOneThatHoldsZero) {
  Sample sample;
  EXPECT_EQ(read<Sample>(written(sample))->until, std::nullopt);
  sample.until = Time();
  EXPECT_EQ(read<Sample>(written(sample))->until, Time());
}

TEST(Fields, CountsOfZeroAreNoMembers) {
  Sample sample;
  sample.counts = {{"x", 0}, {"y", 2}};
  EXPECT_EQ(written(sample), R"({"counts":{"y":2},"job":""})");
  sample.counts = {{"x", 0}};
  EXPECT_EQ(written(sample), R"({"job":""})");
  EXPECT_EQ(fault(R"({"counts":{"x":0},"job":""})"), "counts.x");
  EXPECT_EQ(fault(R"({"counts":{"x":10},"job":""})"), "counts.x");
}

TEST(Fields, RequiredMembersAreMissed) {
  EXPECT_EQ(fault("{}"), "job");
  EXPECT_EQ(fault(R"({"job":null})"), "job");
  EXPECT_EQ(fault<Outer>("{}"), "sample");
}

TEST(Fields, NumbersKeepTheirLimits) {
  EXPECT_EQ(fault(R"({"job":"","ranged":7})"), "");
  EXPECT_EQ(fault(R"({"job":"","ranged":8})"), "ranged");
  EXPECT_EQ(fault(R"({"job":"","ranged":-8})"), "ranged");
  EXPECT_EQ(fault(R"({"job":"","most":0})"), "most");
  EXPECT_EQ(fault(R"({"job":"","most":11})"), "most");
  EXPECT_EQ(fault(R"({"index":-1,"job":""})"), "index");
  EXPECT_EQ(fault(R"({"job":"","size":-1})"), "size");
  EXPECT_EQ(fault(R"({"job":"","wait":-1})"), "wait");
  EXPECT_EQ(fault(R"({"job":"","until":-1})"), "until");
}

TEST(Fields, NumbersKeepTheirWidth) {
  EXPECT_EQ(read<Sample>(R"({"job":"","small":2147483647})")->small, 2'147'483'647);
  EXPECT_EQ(read<Sample>(R"({"job":"","small":-2147483648})")->small, -2'147'483'647 - 1);
  EXPECT_EQ(fault(R"({"job":"","small":2147483648})"), "small");
  EXPECT_EQ(fault(R"({"job":"","small":-2147483649})"), "small");
  EXPECT_EQ(read<Sample>(R"({"index":9223372036854775807,"job":""})")->index.value(), INT64_MAX);
}

TEST(Fields, ErrorsSayLimitAndValue) {
  const Result<Sample> high = read<Sample>(R"({"job":"","ranged":8})");
  EXPECT_EQ(high.error().value, "8");
  EXPECT_NE(high.error().message.find("at most 7"), std::string::npos);
  const Result<Sample> low = read<Sample>(R"({"job":"","ranged":-8})");
  EXPECT_NE(low.error().message.find("at least -7"), std::string::npos);
  const Result<Sample> kind = read<Sample>(R"({"flag":"yes","job":""})");
  EXPECT_EQ(kind.error().field, "flag");
  EXPECT_FALSE(kind.error().message.empty());
}

TEST(Fields, PathsLeadToTheFault) {
  const std::string bad = R"({"job":"","words":["a",7]})";
  EXPECT_EQ(fault(bad), "words[1]");
  EXPECT_EQ(fault(bad, "jobs"), "jobs.words[1]");
  EXPECT_EQ(fault<Outer>(R"({"sample":)" + bad + "}"), "sample.words[1]");
  EXPECT_EQ(fault<Outer>(R"({"more":[{"job":""},)" + bad + R"(],"sample":{"job":""}})"),
            "more[1].words[1]");
  EXPECT_EQ(fault<Outer>(R"({"more":[7],"sample":{"job":""}})"), "more[0]");
  EXPECT_EQ(fault(R"({"job":"","members":{"A":1}})"), "members.A");
  EXPECT_EQ(fault(R"({"job":"","pairs":[["a",1],["b","2"]]})"), "pairs[1]");
  EXPECT_EQ(fault(R"({"job":"","pairs":[["a",1,2]]})"), "pairs[0]");
  EXPECT_EQ(fault("[]", "body"), "body");
}

TEST(Fields, TheFirstFaultIsTheOneTold) {
  EXPECT_EQ(fault(R"({"color":"green","flag":7,"job":8,"zebra":1})"), "color");
  EXPECT_EQ(fault(R"({"flag":7,"job":8,"zebra":1})"), "flag");
  EXPECT_EQ(fault(R"({"job":"","zebra":1})"), "zebra");
}

TEST(Fields, TheCheckOfARecordIsAskedAtEachDepth) {
  EXPECT_EQ(fault(R"({"job":"","name":"cursed"})"), "name");
  EXPECT_EQ(fault<Outer>(R"({"sample":{"job":"","name":"cursed"}})"), "sample.name");
}

// Each member of the full sample, replaced by a value of each other kind.
TEST(Fields, NoOtherKindIsTaken) {
  const json::Value document = MUST(json::parse(kFull));
  const std::vector<json::Value> others = {json::Value::boolean(true), json::Value::decimal("1.5"),
                                           json::Value::integer(1),    json::Value::text("?"),
                                           json::Value::list(),        json::Value::object()};
  for (const auto& [key, member] : document.as_object()) {
    for (const json::Value& other : others) {
      if (other.kind() == member.kind()) continue;
      json::Value::Object changed = document.as_object();
      changed[key] = other;
      const Result<Sample> result = read_record<Sample>(json::Value::object(changed));
      ASSERT_FALSE(result.ok()) << key << " " << other.dump();
      EXPECT_EQ(result.error().field, key);
      EXPECT_EQ(result.error().code, Errc::kInvalid);
    }
  }
}

TEST(FieldsDeathTest, WhatCannotBeReadBackIsNotWritten) {
  Sample sample;
  sample.ranged = 8;
  EXPECT_DEATH(written(sample), "above its most");
  sample = Sample();
  sample.wait = Duration::millis(-1);
  EXPECT_DEATH(written(sample), "below its least");
  sample = Sample();
  sample.members = {{"B", ""}, {"A", ""}};
  EXPECT_DEATH(written(sample), "ascending order");
}

}  // namespace
}  // namespace runnel::model
