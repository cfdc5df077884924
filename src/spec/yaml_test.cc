#include "spec/yaml.h"

#include <gtest/gtest.h>

namespace runnel::spec {
namespace {

YamlNodePtr read(std::string_view text) { return MUST(read_yaml(text, "f.yaml")); }

std::string yaml_error_of(std::string_view text) {
  const Result<YamlNodePtr> result = read_yaml(text, "f.yaml");
  return result.ok() ? "no error" : result.error().to_string();
}

// A value as one line, quotes around what was quoted.
std::string outline(const YamlNode& node) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return node.quoted ? "'" + node.text + "'" : node.text;
  std::string out = node.is_list() ? "[" : "{";
  for (const YamlNodePtr& item : node.items) out += outline(*item) + " ";
  for (const YamlMember& member : node.members) {
    out += member.key->text + ":" + outline(*member.value) + " ";
  }
  if (out.ends_with(' ')) out.pop_back();
  return out + (node.is_list() ? "]" : "}");
}

TEST(Yaml, TextStaysText) {
  EXPECT_EQ(outline(*read("[12:00:00, on, yes, 010, 0x1F, 1e-3, True, 1_000]")),
            "[12:00:00 on yes 010 0x1F 1e-3 True 1_000]");
}

TEST(Yaml, OnlyUnquotedNothingIsNull) {
  EXPECT_EQ(outline(*read("{a: , b: ~, c: null, d: Null, e: '', f: \"~\", g: 'null'}")),
            "{a:null b:null c:null d:null e:'' f:'~' g:'null'}");
}

TEST(Yaml, AnEmptyFileIsNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"}) {
    EXPECT_EQ(outline(*read(text)), "null") << text;
  }
}

TEST(Yaml, BlocksKeepTheirLines) {
  EXPECT_EQ(outline(*read("run: |\n  a\n   b\n")), "{run:'a\n b\n'}");
  EXPECT_EQ(outline(*read("run: >-\n  a\n  b\n")), "{run:'a b'}");
}

TEST(Yaml, AliasesStandForTheirValue) {
  EXPECT_EQ(outline(*read("a: &x [1, 2]\nb: *x\nc: {d: *x}\n")), "{a:[1 2] b:[1 2] c:{d:[1 2]}}");
  EXPECT_EQ(outline(*read("a: &x 1\nb: &x 2\nc: *x\n")), "{a:1 b:2 c:2}");
}

TEST(Yaml, FindsMembersByKey) {
  const YamlNodePtr map = read("a: 1\nb: 2\n");
  ASSERT_NE(map->find("b"), nullptr);
  EXPECT_EQ(map->find("b")->text, "2");
  EXPECT_EQ(map->find("c"), nullptr);
}

TEST(Yaml, OffsetsAreBytesOfTheSource) {
  const std::string text = "\xC3\xA9: x\r\nlist: [a, {b: c}]\r\n";
  const YamlNodePtr map = read(text);
  EXPECT_EQ(map->members[0].key->offset, 0u);
  EXPECT_EQ(map->members[0].value->offset, text.find('x'));
  EXPECT_EQ(map->members[1].value->items[1]->offset, text.find('{'));
}

TEST(Yaml, PositionsCountCharacters) {
  const std::string text = "a\n\xC3\xA9\xE2\x82\xAC b\n";
  EXPECT_EQ(position_at(text, 0, "f"), (SourcePosition{"f", 1, 1}));
  EXPECT_EQ(position_at(text, text.find('b'), "f"), (SourcePosition{"f", 2, 4}));
  EXPECT_EQ(position_at(text, 1000, "f"), (SourcePosition{"f", 3, 1}));
}

TEST(Yaml, AByteOrderMarkDoesNotCount) {
  const std::string text = "\xEF\xBB\xBFname: a\n";
  EXPECT_EQ(outline(*read(text)), "{name:a}");
  EXPECT_EQ(without_byte_order_mark(text), "name: a\n");
  EXPECT_EQ(yaml_error_of("\xEF\xBB\xBFname: [\n").substr(0, 9), "f.yaml:2:");
}

TEST(Yaml, TabsAreFineWhereTheyDoNotIndent) {
  EXPECT_EQ(outline(*read("{\n\t\"a\":\t1,\n\t\"b\": [\n\t\t2\n\t]\n}\n")), "{a:1 b:[2]}");
  EXPECT_EQ(outline(*read("run: |\n  a\n  \tb\n")), "{run:'a\n\tb\n'}");
  EXPECT_EQ(outline(*read("a: 1\t# comment\n")), "{a:1}");
}

TEST(Yaml, TabsThatIndentAreRefusedAtTheTab) {
  const std::string expected =
      ": a tab indents this line, and YAML allows only spaces there; indent with spaces";
  EXPECT_EQ(yaml_error_of("a:\n\tb: 1\n"), "f.yaml:2:1" + expected);
  EXPECT_EQ(yaml_error_of("a:\n  b: 1\n  \tc: 1\n"), "f.yaml:3:3" + expected);
  EXPECT_EQ(yaml_error_of("a:\n\t- b\n"), "f.yaml:2:1" + expected);
  EXPECT_EQ(yaml_error_of("a: |\n\tb\n"), "f.yaml:2:1" + expected);
}

TEST(Yaml, QuotesMustClose) {
  for (const char* text : {"a: \"b\n", "a: 'b\n", "a: 'b''\n", "a: \"b\\\"\n", "[\"a\", \"b]\n"}) {
    EXPECT_NE(yaml_error_of(text).find("quoted text is not closed"), std::string::npos)
        << text << " -> " << yaml_error_of(text);
  }
  EXPECT_EQ(outline(*read("['a''b', \"a\\\"b\", \"\", '']")), "['a'b' 'a\"b' '' '']");
}

TEST(Yaml, APlaceholderBetweenBracesWantsQuotes) {
  for (const char* text : {"a: {run: x --lr {{lr}}}\n", "a: {run: x {{lr}} y, b: 1}\n",
                           "{run: x {{lr}}}\n", "a: [x {{lr}}]\n"}) {
    EXPECT_NE(
        yaml_error_of(text).find("a '{{' stands only in quotes; put quotes around the text, or "
                                 "write `run:` on a line of its own"),
        std::string::npos)
        << text << " -> " << yaml_error_of(text);
  }
  EXPECT_EQ(outline(*read("{run: \"x {{lr}}\"}")), "{run:'x {{lr}}'}");
}

TEST(Yaml, TextThatNoProgramCanBeGivenIsRefused) {
  EXPECT_NE(yaml_error_of("a: \"x\\0y\"\n").find("NUL"), std::string::npos);
  EXPECT_NE(yaml_error_of(std::string("a: x\0y\n", 7)).find("0x00"), std::string::npos);
  EXPECT_NE(yaml_error_of("a: x\x1By\n").find("0x1B"), std::string::npos);
  EXPECT_NE(yaml_error_of("a: x\ry\n").find("0x0D"), std::string::npos);
}

TEST(Yaml, OnlyUtf8IsText) {
  for (const char* bytes : {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xFF",
                            "\x80", "\xE0\x80\x80", "\xF0\x80\x80\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_NE(yaml_error_of(std::string("a: ") + bytes).find("not UTF-8"), std::string::npos)
        << bytes;
  }
  EXPECT_EQ(outline(*read("a: \xF0\x9F\x98\x80\xED\x9F\xBF\xEE\x80\x80")),
            "{a:\xF0\x9F\x98\x80\xED\x9F\xBF\xEE\x80\x80}");
}

TEST(Yaml, AliasesAreBoundedByValuesAndByText) {
  std::string wide = "a: &a [x";
  for (int i = 0; i < 999; ++i) wide += ",x";
  wide += "]\nb: [*a";
  for (int i = 0; i < 300; ++i) wide += ",*a";
  EXPECT_NE(yaml_error_of(wide + "]\n").find("more than 250000 values"), std::string::npos);
  std::string heavy = "a: &a " + std::string(1 << 20, 'x') + "\nb: [*a";
  for (int i = 0; i < 20; ++i) heavy += ",*a";
  EXPECT_NE(yaml_error_of(heavy + "]\n").find("more than 16MiB of text"), std::string::npos);
}

TEST(Yaml, DepthIsBoundedAlsoThroughAliases) {
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    const std::string n = std::to_string(i);
    chain += "a" + n + ": &a" + n + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_NE(yaml_error_of(chain).find("nested more than 64 deep"), std::string::npos);
  EXPECT_NE(yaml_error_of(std::string(5000, '[')).find("nested more than 64 deep"),
            std::string::npos);
  std::string lists;
  for (int i = 0; i < 5000; ++i) lists += "- ";
  EXPECT_NE(yaml_error_of(lists).find("nested more than 64 deep"), std::string::npos);
  EXPECT_EQ(yaml_error_of(std::string(60, '[') + std::string(60, ']')), "no error");
}

TEST(Yaml, OneDocument) {
  EXPECT_EQ(outline(*read("---\na: 1\n...\n")), "{a:1}");
  EXPECT_EQ(outline(*read("a: 1\n---\n")), "{a:1}") << "an empty document after it is nothing";
  EXPECT_NE(yaml_error_of("a: 1\n---\nb: 2\n").find("several documents"), std::string::npos);
  EXPECT_NE(yaml_error_of("a: 1\n---\n- x\n").find("several documents"), std::string::npos);
  EXPECT_NE(yaml_error_of("a: 1\n---\nx\n").find("several documents"), std::string::npos);
}

TEST(Yaml, AParserThatCannotGoOnIsStopped) {
  for (const char* text : {",run: a\n", ",", "a: 1\n---\n,b\n", "{a: 1}}\n", "[1]]\n", "---\n,"}) {
    EXPECT_EQ(yaml_error_of(text).substr(0, 7), "f.yaml:") << text << " -> " << yaml_error_of(text);
  }
  EXPECT_EQ(
      yaml_error_of(",run: a\n"),
      "f.yaml:1:1: not valid YAML: a value cannot begin with this character; put quotes around "
      "the text, or write it below `run: |`");
}

TEST(Yaml, KeysAreDistinctTexts) {
  EXPECT_NE(yaml_error_of("{a: 1, 'a': 2}").find("given twice"), std::string::npos);
  EXPECT_NE(yaml_error_of("{[a]: 1}").find("a key must be text"), std::string::npos);
  EXPECT_NE(yaml_error_of("{{x}}: 1").find("a key must be text"), std::string::npos);
  EXPECT_EQ(outline(*read("{1: a, true: b, \"<<\": c}")), "{1:a true:b <<:c}");
}

TEST(Yaml, WhatTheParserSaysIsPutInWords) {
  EXPECT_EQ(
      yaml_error_of("run: @x\n"),
      "f.yaml:1:6: not valid YAML: a value cannot begin with this character; put quotes around "
      "the text, or write it below `run: |`");
  EXPECT_EQ(yaml_error_of("a: \"\\q\"\n").substr(0, 33), "f.yaml:1:7: not valid YAML: an un");
  EXPECT_EQ(yaml_error_of("%YAML 3.0\n---\na: 1\n").substr(0, 7), "f.yaml:");
  EXPECT_EQ(yaml_error_of("a: 1\n]\n").substr(0, 9), "f.yaml:2:");
}

}  // namespace
}  // namespace runnel::spec
