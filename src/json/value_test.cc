#include "json/value.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace runnel::json {
namespace {

static_assert(sizeof(Value) <= 40);
static_assert(std::is_nothrow_move_constructible_v<Value>);
static_assert(std::is_nothrow_move_assignable_v<Value>);

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

Value read(std::string_view text) { return MUST(parse(text)); }
Error error_of(std::string_view text) { return parse(text).error(); }
std::string canonical(std::string_view text) { return read(text).dump(); }

TEST(Value, HoldsEachKind) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_TRUE(Value::boolean(true).as_bool());
  EXPECT_EQ(Value::integer(kMin).as_int(), kMin);
  EXPECT_EQ(Value::text("abc").as_text(), "abc");
  EXPECT_EQ(Value::decimal("1.50").as_text(), "1.50");
  EXPECT_EQ(Value::decimal("1.50").kind(), Value::Kind::kDecimal);
  EXPECT_EQ(Value::list({Value::integer(1)}).as_list().size(), 1U);
  EXPECT_EQ(Value::object({{"a", Value()}}).as_object().size(), 1U);
}

TEST(Value, CopiesDeepAndMovesOut) {
  Value original = Value::object({{"a", Value::list({Value::integer(1)})}});
  Value copy = original;
  copy.set("b", Value::text("x"));
  EXPECT_EQ(original.find("b"), nullptr);
  EXPECT_NE(original, copy);
  Value moved = std::move(original);
  EXPECT_TRUE(original.is_null());  // NOLINT: the state after a move is part of the contract.
  EXPECT_EQ(moved.dump(), R"({"a":[1]})");
  copy = moved;
  EXPECT_EQ(copy, moved);
}

TEST(Value, MayBeAssignedFromItsOwnPart) {
  Value value = read(R"({"a":{"b":[1,2]}})");
  value = Value(*value.find("a"));
  EXPECT_EQ(value.dump(), R"({"b":[1,2]})");
  value = std::move(value.as_object().at("b"));
  EXPECT_EQ(value.dump(), "[1,2]");
}

TEST(Value, ComparesByContent) {
  EXPECT_EQ(read(R"({"a":1,"b":[{}]})"), read(R"( { "b" : [ {} ] , "a" : 1 } )"));
  EXPECT_NE(Value::integer(1), Value::decimal("1.0"));
  EXPECT_NE(Value::text("1.0"), Value::decimal("1.0"));
  EXPECT_NE(Value::object(), Value::list());
  EXPECT_NE(Value(), Value::boolean(false));
}

TEST(Value, FindsMembersOnlyOfObjects) {
  EXPECT_EQ(Value::list().find("a"), nullptr);
  EXPECT_EQ(read(R"({"a":5})").find("b"), nullptr);
  EXPECT_EQ(read(R"({"a":5})").find("a")->as_int(), 5);
}

TEST(ValueDeathTest, TheWrongKindIsOurBug) {
  EXPECT_DEATH((void)Value().as_int(), "as_int");
  EXPECT_DEATH((void)Value::integer(1).as_text(), "as_text");
  EXPECT_DEATH((void)Value::text("").as_list(), "as_list");
  EXPECT_DEATH((void)Value::list().as_object(), "as_object");
  EXPECT_DEATH((void)Value::list().as_bool(), "as_bool");
  EXPECT_DEATH(Value::list().set("a", Value()), "as_object");
}

TEST(ValueDeathTest, ADecimalIsANumber) {
  for (const char* text : {"", "abc", "01.5", "1.", ".5", "+1", "1e", "1 ", "-", "NaN"}) {
    EXPECT_DEATH(Value::decimal(text), "JSON number") << text;
  }
  EXPECT_EQ(Value::decimal("-0.5e+10").dump(), "-0.5e+10");
}

TEST(Parse, ReadsEveryKind) {
  EXPECT_TRUE(read("null").is_null());
  EXPECT_FALSE(read(" false ").as_bool());
  EXPECT_EQ(read("9223372036854775807").as_int(), kMax);
  EXPECT_EQ(read("-9223372036854775808").as_int(), kMin);
  EXPECT_EQ(read(R"("\u00e9\ud83d\ude00\n\/")").as_text(), "\u00e9\U0001F600\n/");
  EXPECT_EQ(read("[]").as_list().size(), 0U);
  EXPECT_EQ(read(R"({"k":[1,{"x":null}]})").find("k")->as_list()[1].find("x")->kind(),
            Value::Kind::kNull);
}

TEST(Parse, KeepsFractionsAsWritten) {
  for (const char* text : {"1.0", "0.1", "-1e5", "1E400", "3.141592653589793238462643383279",
                           "1e-7", "0.30000000000000004", "-0.0"}) {
    const Result<Value> value = parse(text);
    if (!value.ok()) continue;  // An exponent the parser cannot hold is refused below.
    EXPECT_EQ(value->kind(), Value::Kind::kDecimal) << text;
    EXPECT_EQ(value->dump(), text);
  }
  EXPECT_EQ(canonical("[3.141592653589793238462643383279]"), "[3.141592653589793238462643383279]");
}

TEST(Parse, RefusesIntegersBeyond64Bits) {
  for (const char* text : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                           "-9223372036854775809", "123456789012345678901234567890"}) {
    const Error error = error_of(text);
    EXPECT_EQ(error.message, "the integer " + std::string(text) + " does not fit into 64 bits");
    EXPECT_EQ(error.where.line, 1);
  }
}

TEST(Parse, RefusesAKeyTwiceAndPointsAtTheSecond) {
  const Error error = error_of("{\n  \"a\": 1,\n  \"b\": 2,\n  \"a\": 3\n}");
  EXPECT_EQ(error.message, "the key 'a' appears twice in one object");
  EXPECT_EQ(error.where.line, 4);
  EXPECT_EQ(error.where.column, 4);
  EXPECT_TRUE(parse(R"({"a":{"a":1},"b":{"a":1}})").ok());
  EXPECT_FALSE(parse(R"({"a":1,"\u0061":2})").ok());
}

TEST(Parse, PointsAtTheMistake) {
  const Error error = error_of("{\n  \"a\": 1,\n  \"b\": oops\n}");
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.message, "this is not valid JSON");
  EXPECT_EQ(error.where.line, 3);
  EXPECT_EQ(error.where.column, 8);
}

TEST(Parse, RefusesWhatIsNotOneDocument) {
  for (const char* text : {"",
                           "  ",
                           "{",
                           "[1,",
                           "[1,]",
                           "{\"a\":}",
                           "{a:1}",
                           "'x'",
                           "tru",
                           "01",
                           "+1",
                           "1.",
                           ".5",
                           "-",
                           "\"abc",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\xff\"",
                           "\"\xc0\x80\"",
                           "\"\xed\xa0\x80\"",
                           "\"a\nb\"",
                           "1 2",
                           "{} x",
                           "[1] ]",
                           "// c\n1",
                           "NaN",
                           "Infinity",
                           "\xef\xbb\xbf{}"}) {
    const Result<Value> value = parse(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().code, Errc::kInvalid) << text;
    EXPECT_GE(value.error().where.line, 1) << text;
  }
  EXPECT_EQ(error_of("[1,").message, "the document ends too early");
  EXPECT_EQ(error_of("1 2").message, "there is more text after the end of the document");
}

TEST(Parse, StopsAtItsLimits) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(parse(deep).ok());
  EXPECT_NE(parse("[" + deep + "]").error().message.find("deeper than 64"), std::string::npos);
  EXPECT_FALSE(parse(std::string(1'000'000, '[')).ok());
  EXPECT_FALSE(parse("[1]", {.bytes_max = 2}).ok());
  EXPECT_TRUE(parse("[1]", {.bytes_max = 3}).ok());
}

TEST(Dump, IsCanonical) {
  EXPECT_EQ(canonical(R"( { "b" : [ 1 , true , null ] , "a" : "x" } )"),
            R"({"a":"x","b":[1,true,null]})");
  EXPECT_EQ(canonical(R"(["\u0041\u001f\u007f\/\"\\\b\f\n\r\t"])"),
            "[\"A\\u001f\x7f/\\\"\\\\\\b\\f\\n\\r\\t\"]");
  EXPECT_EQ(canonical("-0"), "0");
  EXPECT_EQ(canonical("{}"), "{}");
}

TEST(Dump, PrettyIsForPeopleAndReadsBack) {
  const Value value = read(R"({"b":[1,{"c":[]}],"a":{}})");
  EXPECT_EQ(value.dump_pretty(),
            "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"c\": []\n    }\n  ]\n}");
  EXPECT_EQ(read(value.dump_pretty()), value);
  EXPECT_EQ(Value::text("x").dump_pretty(), "\"x\"");
}

// Documents of every kind, nested at most `depth` deep.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Value value(int depth) {
    switch (pick(depth > 0 ? 7 : 5)) {
      case 0: return {};
      case 1: return Value::boolean(pick(2) == 0);
      case 2: return Value::integer(static_cast<std::int64_t>(random_()) >> pick(64));
      case 3: return Value::decimal(std::to_string(pick(1000)) + ".5e-" + std::to_string(pick(9)));
      case 4: return Value::text(text());
      case 5: return list(depth);
      default: return object(depth);
    }
  }

 private:
  unsigned pick(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  std::string text() {
    static constexpr std::string_view kPieces[] = {"a",          "long plain text without escapes",
                                                   "\"",         "\\",
                                                   "\n",         "\x01",
                                                   "\U0001F600", "\x7f",
                                                   "\u00e9",     ""};
    std::string out;
    for (unsigned count = pick(6); count > 0; --count) out += kPieces[pick(std::size(kPieces))];
    if (pick(10) == 0) out += '\0';
    return out;
  }

  Value list(int depth) {
    Value::List items;
    for (unsigned count = pick(5); count > 0; --count) items.push_back(value(depth - 1));
    return Value::list(std::move(items));
  }

  Value object(int depth) {
    Value object = Value::object();
    for (unsigned count = pick(5); count > 0; --count) object.set(text(), value(depth - 1));
    return object;
  }

  std::mt19937_64 random_;
};

TEST(Dump, PrintAndReadIsTheIdentity) {
  Generator generator(1);
  for (int i = 0; i < 3000; ++i) {
    const Value value = generator.value(5);
    ASSERT_EQ(read(value.dump()), value) << value.dump();
    ASSERT_EQ(read(value.dump_pretty()), value) << value.dump();
    ASSERT_EQ(canonical(value.dump()), value.dump());
  }
}

TEST(Parse, SurvivesDamagedDocuments) {
  Generator generator(2);
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text = generator.value(4).dump();
    text[random() % text.size()] = static_cast<char>(random());
    const Result<Value> value = parse(text);
    if (value.ok()) {
      ASSERT_EQ(read(value->dump()), *value);
    } else {
      ASSERT_GE(value.error().where.line, 1);
    }
  }
}

TEST(Value, DescribesItsKindInWords) {
  EXPECT_EQ(describe(Value::Kind::kNull), "null");
  EXPECT_EQ(describe(Value::Kind::kBool), "true or false");
  EXPECT_EQ(describe(Value::Kind::kInt), "an integer");
  EXPECT_EQ(describe(Value::Kind::kDecimal), "a number");
  EXPECT_EQ(describe(Value::Kind::kText), "text");
  EXPECT_EQ(describe(Value::Kind::kList), "a list");
  EXPECT_EQ(describe(Value::Kind::kObject), "an object");
}

TEST(Value, CopiesAndMovesOfEveryKindAreEqual) {
  Generator generator(7);
  for (int i = 0; i < 500; ++i) {
    const Value original = generator.value(4);
    const Value copy = original;
    ASSERT_EQ(copy, original);
    ASSERT_EQ(copy.kind(), original.kind());
    Value source = copy;
    Value moved = std::move(source);
    ASSERT_EQ(moved, original);
    ASSERT_TRUE(source.is_null());  // NOLINT: the state after a move is part of the contract.
    Value assigned = generator.value(2);
    assigned = moved;
    ASSERT_EQ(assigned, original);
    assigned = std::move(moved);
    ASSERT_EQ(assigned, original);
  }
}

TEST(Value, ValuesOfDifferentTextAreDifferent) {
  Generator generator(8);
  for (int i = 0; i < 500; ++i) {
    const Value a = generator.value(3);
    const Value b = generator.value(3);
    ASSERT_EQ(a == b, a.dump() == b.dump()) << a.dump() << " " << b.dump();
  }
}

TEST(Value, AListMayGrowFromItself) {
  Value list = read("[[1],[2]]");
  list.as_list().push_back(list.as_list()[0]);
  list.as_list().push_back(Value(list));
  EXPECT_EQ(list.dump(), "[[1],[2],[1],[[1],[2],[1]]]");
}

TEST(Value, SetReplaces) {
  Value object = Value::object();
  object.set("b", Value::integer(1));
  object.set("a", Value::integer(2));
  object.set("b", Value::text("x"));
  EXPECT_EQ(object.dump(), R"({"a":2,"b":"x"})");
}

}  // namespace
}  // namespace runnel::json
