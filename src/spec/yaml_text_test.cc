#include "spec/yaml_text.h"

#include <gtest/gtest.h>

#include "spec/yaml.h"

namespace runnel::spec {
namespace {

TEST(YamlText, PlainTextHasNoFault) {
  for (const char* text : {"", "a: b\n", "a:\tb\r\n", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"}) {
    EXPECT_FALSE(fault_of_text(text).has_value()) << text;
  }
}

TEST(YamlText, FaultsStandAtTheirByte) {
  EXPECT_EQ(fault_of_text("ab\xFF")->offset, 2u);
  EXPECT_EQ(fault_of_text("ab\x01")->offset, 2u);
  EXPECT_EQ(fault_of_text("ab\x7F")->offset, 2u);
  EXPECT_EQ(fault_of_text("ab\r")->offset, 2u);
  EXPECT_EQ(fault_of_text(std::string(kYamlBytesMax + 1, 'a'))->offset, 0u);
  EXPECT_FALSE(fault_of_text(std::string(kYamlBytesMax, 'a')).has_value());
}

TEST(YamlText, EveryTruncatedCharacterIsRefused) {
  const std::string character = "\xF0\x9F\x98\x80";
  for (std::size_t length = 1; length < 4; ++length) {
    EXPECT_TRUE(fault_of_text(character.substr(0, length)).has_value()) << length;
    EXPECT_TRUE(fault_of_text(character.substr(0, length) + "a").has_value()) << length;
  }
}

TEST(YamlText, TabsAreSeenOnlyAtTheBeginningOfALine) {
  const std::string text = "a\n \tb\nc\td\n";
  EXPECT_TRUE(indented_by_tab(text, text.find('b')));
  EXPECT_FALSE(indented_by_tab(text, text.find('d')));
  EXPECT_FALSE(indented_by_tab(text, 0));
  EXPECT_FALSE(indented_by_tab(text, text.find('c')));
  EXPECT_EQ(tab_near(text, text.find('b')), 3u);
  EXPECT_EQ(tab_near(text, text.find('c')), 3u) << "the line above counts too";
  EXPECT_FALSE(tab_near(text, 0).has_value());
  EXPECT_FALSE(tab_near(text, text.size()).has_value());
}

TEST(YamlText, QuotesEndAtTheirOwnKind) {
  EXPECT_TRUE(quote_is_closed("'a'", 0));
  EXPECT_TRUE(quote_is_closed("'a''b'", 0));
  EXPECT_TRUE(quote_is_closed("\"a\\\"b\"", 0));
  EXPECT_TRUE(quote_is_closed("| block", 0));
  EXPECT_TRUE(quote_is_closed("", 0));
  EXPECT_FALSE(quote_is_closed("'a\"", 0));
  EXPECT_FALSE(quote_is_closed("'a''", 0));
  EXPECT_FALSE(quote_is_closed("\"a\\\"", 0));
  EXPECT_FALSE(quote_is_closed("\"a\\", 0));
}

TEST(YamlText, WhatTheParserSaysIsNeverLost) {
  const Error known = explain_yaml_error("illegal map value", "a: b: c", 4);
  EXPECT_EQ(known.message, "not valid YAML: a second ':' or a wrong indentation stands here");
  EXPECT_EQ(known.value, ":");
  const Error unknown = explain_yaml_error("something new", "a", 9);
  EXPECT_EQ(unknown.message, "not valid YAML: something new");
  EXPECT_FALSE(unknown.hint.empty());
}

}  // namespace
}  // namespace runnel::spec
