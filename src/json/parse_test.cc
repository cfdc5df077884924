#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json/value.h"

namespace runnel::json {
namespace {

struct Place {
  const char* text;
  int line;
  int column;
};

TEST(ParsePlace, IsWhereReadingStopped) {
  const Place places[] = {
      {"", 1, 1},
      {"   ", 1, 4},
      {"x", 1, 1},
      {"[1,\n2,\n x]", 3, 2},
      {"{\"a\":1,\n\"b\" 2}", 2, 5},
      {"{\"a\":1}\n\n}", 3, 1},
      {"[\"abc\n\"]", 1, 6},
      {"{\"a\":\t\n\t?}", 2, 2},
      {"[1\r\n,,]", 2, 2},
      {"\"\\q\"", 1, 3},
      {"[1 2]", 1, 4},
  };
  for (const Place& place : places) {
    const Error error = parse(place.text).error();
    EXPECT_EQ(error.where.line, place.line) << place.text;
    EXPECT_EQ(error.where.column, place.column) << place.text;
  }
}

TEST(ParsePlace, OfOurOwnRefusalsIsTheToken) {
  const Place places[] = {
      {"[1,\n99999999999999999999]", 2, 1},
      {"{\"k\":1,\"k\":2}", 1, 9},
      {"{\"a\":{\"b\":1,\n   \"b\":2}}", 2, 5},
      {"[[[18446744073709551615]]]", 1, 4},
  };
  for (const Place& place : places) {
    const Error error = parse(place.text).error();
    EXPECT_EQ(error.where.line, place.line) << place.text;
    EXPECT_EQ(error.where.column, place.column) << place.text;
  }
}

TEST(ParseSentence, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> rows[] = {
      {"[1,2", "the document ends too early"},
      {"{\"a\"", "the document ends too early"},
      {"\"abc", "the document ends too early"},
      {"1 1", "there is more text after the end of the document"},
      {"{}{}", "there is more text after the end of the document"},
      {"[1,]", "this is not valid JSON"},
      {"nul1", "this is not valid JSON"},
      {"\"\\u12G4\"", "a \\u escape needs four hexadecimal digits"},
      {"\"\\uDC00\"", "this \\u escape is half of a pair"},
      {"{\"a\":0,\"a\":0}", "the key 'a' appears twice in one object"},
      {"92233720368547758070", "the integer 92233720368547758070 does not fit into 64 bits"},
  };
  for (const auto& [text, sentence] : rows) {
    EXPECT_EQ(parse(text).error().message, sentence) << text;
  }
}

TEST(ParseLimits, AreNamedInTheSentence) {
  EXPECT_EQ(parse("[[[1]]]", {.depth_max = 2}).error().message,
            "lists and objects are nested deeper than 2");
  EXPECT_TRUE(parse("[[1]]", {.depth_max = 2}).ok());
  EXPECT_EQ(parse("12345", {.bytes_max = 4}).error().message,
            "the document has 5 bytes, more than the maximum of 4");
  EXPECT_FALSE(parse(R"({"a":{"b":{"c":1}}})", {.depth_max = 2}).ok());
}

// Takes what RFC 8259 calls a number, and keeps its text.
TEST(ParseNumber, TakesTheGrammarAndNothingElse) {
  for (const char* text : {"0", "-1", "12", "1234567890123456789", "-9223372036854775808"}) {
    const Value value = MUST(parse(text));
    EXPECT_TRUE(value.is_int()) << text;
    EXPECT_EQ(value.dump(), text);
  }
  for (const char* text : {"0.0", "-0.0", "1.5", "1e1", "1E1", "1e+1", "1e-1", "0e0", "0.1e10",
                           "-12.25E-3", "100000000000000000000.0", "12345678901234567890e2"}) {
    const Value value = MUST(parse(text));
    EXPECT_EQ(value.kind(), Value::Kind::kDecimal) << text;
    EXPECT_EQ(value.dump(), text);
  }
  for (const char* text :
       {"00",  "01", "-01", "1.",  ".1",  "-.1", "1.e1",     "1e",        "1e+", "e1", "+1",
        "--1", "1-", "0x1", "1_0", "1,0", "-",   "Infinity", "-Infinity", "NaN", "1f"}) {
    EXPECT_FALSE(parse(text).ok()) << text;
  }
}

TEST(ParseNumber, EveryIntegerNearTheEdgesIsExactOrRefused) {
  const std::string most = "922337203685477580";
  for (int digit = 0; digit <= 9; ++digit) {
    const std::string text = most + std::to_string(digit);
    EXPECT_EQ(parse(text).ok(), digit <= 7) << text;
    EXPECT_EQ(parse("-" + text).ok(), digit <= 8) << text;
    if (digit <= 7) {
      EXPECT_EQ(MUST(parse(text)).dump(), text);
    }
  }
}

TEST(ParseText, TakesEveryEscape) {
  EXPECT_EQ(MUST(parse(R"("\"\\\/\b\f\n\r\t")")).as_text(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(MUST(parse(R"("\u0000")")).as_text(), std::string(1, '\0'));
  EXPECT_EQ(MUST(parse(R"("\u00e9\u20AC\uD83D\uDE00")")).as_text(),
            "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  for (const char* text :
       {R"("\a")", R"("\'")", R"("\0")", R"("\x41")", R"("\u")", R"("\u1")", R"("\u123")",
        R"("\uD800")", R"("\uD800\u0041")", R"("\uDFFF")", R"("\uD800x")"}) {
    EXPECT_FALSE(parse(text).ok()) << text;
  }
}

TEST(ParseText, ControlCharactersMustBeEscaped) {
  for (int c = 0; c < 0x20; ++c) {
    const std::string text = std::string("\"a") + static_cast<char>(c) + "b\"";
    EXPECT_FALSE(parse(text).ok()) << c;
  }
  EXPECT_TRUE(parse("\"\x7f\"").ok());
}

TEST(ParseText, IsUtf8) {
  for (const char* good : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    const std::string text = std::string("\"") + good + "\"";
    EXPECT_EQ(MUST(parse(text)).as_text(), good);
  }
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41",
                          "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xEF\xBF",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_FALSE(parse(std::string("\"") + bad + "\"").ok());
    EXPECT_FALSE(parse(std::string("{\"") + bad + "\":1}").ok());
  }
}

TEST(ParseSpace, IsSpaceTabAndLineEnds) {
  EXPECT_EQ(MUST(parse("\t\r\n [ 1 ,\t2\r\n] \n")).dump(), "[1,2]");
  for (const char* text : {"\v1", "\f1",
                           "\xC2\xA0"
                           "1",
                           "1\v", "/**/1", "1//", "#\n1"}) {
    EXPECT_FALSE(parse(text).ok()) << text;
  }
}

TEST(ParseStructure, RefusesWhatIsAlmostAnObjectOrList) {
  for (const char* text :
       {"[",        "]",          "{",         "}",         "[}",       "{]",
        "[,]",      "[1,,2]",     "[1 2]",     "[1,]",      "{,}",      "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{a:1}",     "{1:1}",    "{\"a\":1 \"b\":2}",
        "{'a':1}",  "[1",         "{\"a\":1",  "[\"a\":1]", "{null:1}", "{[1]:1}",
        "[[]",      "{}}",        "::",        ":",         ","}) {
    EXPECT_FALSE(parse(text).ok()) << text;
  }
}

TEST(ParseStructure, KeysMayBeAnyText) {
  const Value value = MUST(parse(R"({"":1," ":2,"\u0000":3,"é":4,"a.b":5})"));
  EXPECT_EQ(value.as_object().size(), 5U);
  EXPECT_EQ(value.find("")->as_int(), 1);
  EXPECT_EQ(value.find(std::string_view("\0", 1))->as_int(), 3);
  EXPECT_EQ(value.find("é")->as_int(), 4);
}

TEST(ParseStructure, KeysAreEqualByTheirTextNotTheirWriting) {
  EXPECT_FALSE(parse(R"({"é":1,"\u00e9":2})").ok());
  EXPECT_TRUE(parse(R"({"a":1,"A":2})").ok());
  EXPECT_FALSE(parse(R"({"":1,"":2})").ok());
}

TEST(ParseStructure, LongTextsAndNumbersArriveWhole) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(MUST(parse("{\"" + text + "\":\"" + text + "\"}")).find(text)->as_text(), text);
  const std::string escapes = [] {
    std::string out;
    for (int i = 0; i < 20'000; ++i) out += "\\n\\u00e9";
    return out;
  }();
  EXPECT_EQ(MUST(parse("\"" + escapes + "\"")).as_text().size(), 60'000U);
  const std::string digits = "1." + std::string(5000, '3');
  EXPECT_EQ(MUST(parse(digits)).as_text(), digits);
}

// Cutting a document anywhere leaves something that is refused, unless only space was cut.
TEST(ParseProperty, EveryCutIsRefused) {
  const std::string text = R"({"a":[1,2.5,"x\n\u00e9"],"b":{"c":null,"d":true},"e":-7})";
  ASSERT_TRUE(parse(text).ok());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Result<Value> value = parse(text.substr(0, size));
    ASSERT_FALSE(value.ok()) << size;
    EXPECT_EQ(value.error().where.line, 1);
    EXPECT_LE(value.error().where.column, static_cast<int>(size) + 1);
  }
}

TEST(ParseProperty, AnyBytesAreReadOrRefusedWithAPlaceInside) {
  constexpr std::string_view kLetters = "{}[]\",:0123456789-.eEtruefalsn\\u \n\t\xC3\xA9";
  std::mt19937 random(5);
  int read = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text;
    for (std::size_t size = random() % 12; size > 0; --size)
      text += kLetters[random() % kLetters.size()];
    const Result<Value> value = parse(text);
    if (value.ok()) {
      ++read;
      ASSERT_EQ(MUST(parse(value->dump())), *value) << text;
      continue;
    }
    ASSERT_GE(value.error().where.line, 1) << text;
    ASSERT_GE(value.error().where.column, 1) << text;
    ASSERT_LE(value.error().where.column, static_cast<int>(text.size()) + 1) << text;
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace runnel::json
