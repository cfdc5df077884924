#include "model/template.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

using Kind = TemplatePart::Kind;

std::string fill(std::string_view text) {
  static const std::map<std::string, std::string, std::less<>> kValues = {
      {"lr", "0.1"}, {"width", "64"}, {"job.id", "j1"}, {"braces", "{{lr}}"}, {"empty", ""}};
  return fill_template(text, [](std::string_view name) -> std::optional<std::string> {
    const auto found = kValues.find(name);
    if (found == kValues.end()) return std::nullopt;
    return found->second;
  });
}

// "text|NAME|..." with names in capitals, as one line.
std::string shape_of(std::string_view text) {
  std::string out;
  for (const TemplatePart& part : scan_template(text)) {
    out += part.kind == Kind::kText ? "t:" : part.kind == Kind::kName ? "n:" : "o:";
    out += std::string(part.text) + "@" + std::to_string(part.offset) + " ";
  }
  return out;
}

TEST(Template, FillsReferences) {
  EXPECT_EQ(fill("train --lr {{lr}} --width {{width}}"), "train --lr 0.1 --width 64");
  EXPECT_EQ(fill("{{lr}}{{width}}"), "0.164");
  EXPECT_EQ(fill("{{job.id}}"), "j1");
  EXPECT_EQ(fill("a{{empty}}b"), "ab");
}

TEST(Template, SpacesAroundTheNameDoNotCount) {
  EXPECT_EQ(fill("{{ lr }} {{\tlr}} {{lr  }}"), "0.1 0.1 0.1");
  EXPECT_EQ(shape_of("{{  }}"), "n:@0 ");
}

TEST(Template, TextWithoutReferencesIsUntouched) {
  for (const char* text :
       {"", "echo hello", "a } b }} c", "${x} {y} {", "for i in {1..3}; do :; done"}) {
    EXPECT_EQ(fill(text), text);
  }
}

TEST(Template, FourBracesAreTwo) {
  EXPECT_EQ(fill("{{{{lr}}"), "{{lr}}");
  EXPECT_EQ(fill("docker ps --format '{{{{.ID}}'"), "docker ps --format '{{.ID}}'");
  EXPECT_EQ(fill("{{{{{{{{x"), "{{{{x");
  EXPECT_EQ(fill("{{{{{{lr}}"), "{{0.1");
  EXPECT_EQ(fill("{{{{{lr"), "{{{lr");
  EXPECT_EQ(fill("a {{{{ b {{lr}} c {{{{ d"), "a {{ b 0.1 c {{ d");
}

TEST(Template, ABraceBeforeAReferenceNeedsNoEscape) {
  EXPECT_EQ(fill(R"({"lr":{{lr}},"w":{{width}}})"), R"({"lr":0.1,"w":64})");
  EXPECT_EQ(fill("${{{lr}}}"), "${0.1}");
}

TEST(Template, WhatIsFilledInIsNotScannedAgain) { EXPECT_EQ(fill("{{braces}}"), "{{lr}}"); }

TEST(Template, UnknownAndOpenReferencesStayAsWritten) {
  EXPECT_EQ(fill("x {{ nobody }} {{lr}}"), "x {{ nobody }} 0.1");
  EXPECT_EQ(fill("x {{lr"), "x {{lr");
  EXPECT_EQ(fill("x {{lr\n}} {{lr}}"), "x {{lr\n}} {{lr}}");
}

TEST(Template, SaysWhereEachPartBegins) {
  EXPECT_EQ(shape_of("ab{{lr}}c"), "t:ab@0 n:lr@2 t:c@8 ");
  EXPECT_EQ(shape_of("{{{ lr }}"), "t:{@0 n:lr@1 ");
  EXPECT_EQ(shape_of("ab {{lr"), "t:ab @0 o:{{lr@3 ");
  EXPECT_EQ(shape_of("{{{{a"), "t:{{@0 t:a@4 ");
  EXPECT_EQ(shape_of("{{}}"), "n:@0 ");
  EXPECT_EQ(shape_of("{{a{b}}"), "n:a{b@0 ");
}

TEST(Template, KnowsTheNamesEveryTaskHas) {
  EXPECT_TRUE(is_task_name("job.id"));
  EXPECT_TRUE(is_task_name("job.name"));
  EXPECT_TRUE(is_task_name("task.index"));
  EXPECT_TRUE(is_task_name("task.count"));
  EXPECT_FALSE(is_task_name("item"));
  EXPECT_FALSE(is_task_name("best.search.lr"));
  EXPECT_FALSE(is_task_name(""));
}

// Doubling every pair of braces is the escape, so any text can be written.
TEST(Template, EveryTextOfPairsCanBeEscaped) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 5'000; ++round) {
    std::string wanted;
    std::string written;
    for (std::uint64_t left = random() % 12; left > 0; --left) {
      const std::uint64_t pick = random() % 4;
      const char* piece = pick == 0 ? "{{" : pick == 1 ? "}}" : pick == 2 ? "x" : " ";
      wanted += piece;
      written += pick == 0 ? "{{{{" : piece;
    }
    ASSERT_EQ(fill(written), wanted) << written;
  }
}

// Whatever is scanned, the parts are in order, inside the text and never overlap.
TEST(Template, PartsLieInOrderInsideAnyText) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t left = random() % 24; left > 0; --left) text += "{{{}}a\n "[random() % 8];
    std::size_t end = 0;
    for (const TemplatePart& part : scan_template(text)) {
      ASSERT_GE(part.offset, end) << text;
      end = part.offset + (part.kind == Kind::kName ? part.text.size() + 4 : part.text.size());
      ASSERT_LE(end, text.size()) << text;
    }
    (void)fill(text);
  }
}

}  // namespace
}  // namespace runnel::model
