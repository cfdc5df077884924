#include "json/writer.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "json/value.h"

namespace runnel::json {
namespace {

std::string text_of(std::string_view text) {
  std::string out;
  Writer(out).text(text);
  return out;
}

TEST(Writer, WritesEveryKind) {
  std::string out;
  Writer writer(out);
  writer.begin_object();
  writer.key("a").begin_list().integer(1).text("x").boolean(false).null().raw("{}").end_list();
  writer.field("b", 7).field("c", "text").field("d", true).field("e", std::string("s"));
  writer.key("f").begin_object().end_object();
  writer.end_object();
  EXPECT_EQ(out, R"({"a":[1,"x",false,null,{}],"b":7,"c":"text","d":true,"e":"s","f":{}})");
  EXPECT_EQ(MUST(parse(out)).dump(), out);
}

TEST(Writer, SeparatesNestedLists) {
  std::string out;
  Writer writer(out);
  writer.begin_list();
  for (int i = 0; i < 3; ++i) writer.begin_list().integer(i).integer(i).end_list();
  writer.end_list();
  EXPECT_EQ(out, "[[0,0],[1,1],[2,2]]");
}

TEST(Writer, WritesExtremeIntegers) {
  std::string out;
  Writer writer(out);
  writer.begin_list();
  writer.integer(std::numeric_limits<std::int64_t>::min());
  writer.integer(std::numeric_limits<std::int64_t>::max());
  writer.end_list();
  EXPECT_EQ(out, "[-9223372036854775808,9223372036854775807]");
}

TEST(Writer, AppendsToWhatIsThere) {
  std::string out = "prefix ";
  Writer(out).integer(-5);
  EXPECT_EQ(out, "prefix -5");
}

TEST(Writer, EscapesAtEveryPlaceOfAWord) {
  for (std::size_t place = 0; place < 20; ++place) {
    for (const char c : {'"', '\\', '\n', '\x1f', '\x7f', ' '}) {
      std::string text(20, 'x');
      text[place] = c;
      EXPECT_EQ(MUST(parse(text_of(text))).as_text(), text) << place << " " << static_cast<int>(c);
    }
  }
}

TEST(Writer, EveryByteReadsBack) {
  for (int c = 0; c < 128; ++c) {
    const std::string text(3, static_cast<char>(c));
    EXPECT_EQ(MUST(parse(text_of(text))).as_text(), text) << c;
  }
}

TEST(Writer, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(text_of("a\xff"
                    "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(text_of("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  for (const char* bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xe2\x82",
                          "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "\xf8\x88\x80\x80\x80"}) {
    const std::string written = text_of(bad);
    EXPECT_NE(written.find("\xef\xbf\xbd"), std::string::npos);
    EXPECT_TRUE(parse(written).ok()) << written;
  }
}

TEST(Writer, EveryTwoByteTextReadsBack) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; b += 3) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      ASSERT_TRUE(parse(text_of(text)).ok()) << a << " " << b;
    }
  }
}

TEST(WriterDeathTest, KeysAscendAndLevelsBalance) {
  std::string out;
  EXPECT_DEATH(Writer(out).begin_object().field("b", 1).field("a", 1), "ascending");
  EXPECT_DEATH(Writer(out).begin_object().field("a", 1).field("a", 1), "ascending");
  EXPECT_DEATH(Writer(out).begin_object().end_list(), "end as what they began");
  EXPECT_DEATH(Writer(out).end_object(), "each end has its begin");
  EXPECT_DEATH(Writer(out).begin_list().key("a"), "list has no keys");
  EXPECT_DEATH(Writer(out).key("a"), "inside an object");
}

TEST(WriterDeathTest, NestsToItsLimit) {
  std::string out;
  Writer writer(out);
  for (int i = 0; i < 64; ++i) writer.begin_list();
  EXPECT_DEATH(writer.begin_list(), "at most 64");
}

TEST(Writer, APrefixSortsBeforeTheLongerKey) {
  std::string out;
  Writer(out).begin_object().field("a", 1).field("a!", 2).field("ab", 3).end_object();
  EXPECT_EQ(out, R"({"a":1,"a!":2,"ab":3})");
  EXPECT_EQ(MUST(parse(out)).dump(), out);
}

// The rules of RFC 8259 byte by byte, without speed: the oracle for ASCII.
std::string escaped_by_definition(std::string_view text) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  std::string out = "\"";
  for (const char c : text) {
    const std::size_t named = kNamed.find(c);
    if (named != kNamed.npos) {
      out += '\\';
      out += kNames[named];
    } else if (c < 0x20) {
      out += "\\u00";
      out += "01"[c >> 4];
      out += "0123456789abcdef"[c & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

TEST(WriterProperty, EscapesAsTheDefinitionSays) {
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 40, 'x');
    for (char& c : text) {
      if (random() % 4 == 0) c = static_cast<char>(random() % 128);
    }
    ASSERT_EQ(text_of(text), escaped_by_definition(text));
  }
}

TEST(WriterProperty, AnyBytesBecomeReadableText) {
  std::mt19937 random(4);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 12, 'x');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string written = text_of(bytes);
    const Result<Value> read = parse(written);
    ASSERT_TRUE(read.ok()) << written;
    ASSERT_EQ(read->dump(), written);
  }
}

TEST(Writer, ReplacesOneBadByteAtATime) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(text_of("\xff\xfe"), "\"" + mark + mark + "\"");
  EXPECT_EQ(text_of("\xe2\x82"
                    "a"),
            "\"" + mark + mark + "a\"");
  EXPECT_EQ(text_of("\xc3\xa9\xff\xc3\xa9"), "\"\xc3\xa9" + mark + "\xc3\xa9\"");
  EXPECT_EQ(text_of("\xff\n"), "\"" + mark + "\\n\"");
}

TEST(Writer, ManyObjectsInAListEachHaveTheirOwnOrder) {
  std::string out;
  Writer writer(out);
  writer.begin_list();
  for (int i = 0; i < 3; ++i) {
    writer.begin_object().field("b", i).key("c").begin_object().field("a", i).end_object();
    writer.field("d", i).end_object();
  }
  writer.end_list();
  EXPECT_EQ(out,
            R"([{"b":0,"c":{"a":0},"d":0},{"b":1,"c":{"a":1},"d":1},{"b":2,"c":{"a":2},"d":2}])");
}

TEST(Writer, TakesEveryKindOfNumber) {
  std::string out;
  Writer writer(out);
  writer.begin_object();
  writer.field("a", std::int8_t{-1}).field("b", std::uint8_t{2}).field("c", std::size_t{3});
  writer.field("d", 4LL).field("e", 'A');
  writer.end_object();
  EXPECT_EQ(out, R"({"a":-1,"b":2,"c":3,"d":4,"e":65})");
}

TEST(Writer, EscapedKeysAreWrittenWhateverTheirOrder) {
  std::string out;
  Writer(out).begin_object().field("a\n", 1).field("a\x01", 2).end_object();
  EXPECT_EQ(out, R"({"a\n":1,"a\u0001":2})");
}

TEST(IsUtf8, KnowsWhatIsAndWhatIsNot) {
  for (const char* good : {"", "plain", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad :
       {"\xff", "\xc3", "a\xc3(", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(IsUtf8, SaysWhetherTheWriterReplacesAnything) {
  const std::string replacement = "\xEF\xBF\xBD";
  for (int first = 0x20; first < 256; ++first) {
    for (int second = 0x20; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second)};
      std::string out;
      Writer(out).text(text);
      ASSERT_EQ(is_utf8(text), out.find(replacement) == std::string::npos)
          << first << " " << second;
    }
  }
}

}  // namespace
}  // namespace runnel::json
