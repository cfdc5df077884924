#include "cli/last_lines.h"

#include <string>

#include <gtest/gtest.h>

#include "json/value.h"

namespace runnel::cli {
namespace {

using Lines = LastLines::Lines;

void add(LastLines& last, const std::string& text, const std::string& stream = "stderr") {
  json::Value line = json::Value::object();
  line.set("stream", json::Value::text(stream));
  line.set("msg", json::Value::text(text + "\n"));
  last.add(line);
}

TEST(LastLines, AreThoseOfStderrAndOfStdoutWhereItToldNothing) {
  LastLines last;
  add(last, "fine", "stdout");
  add(last, " ");
  EXPECT_EQ(last.lines(), Lines({"fine"}));
  add(last, "cause");
  EXPECT_EQ(last.lines(), Lines({"cause"}));
}

TEST(LastLines, BlankOnesAtTheEndPushNothingOut) {
  LastLines last;
  add(last, "");
  add(last, "Traceback:");
  add(last, "");
  add(last, "the true cause");
  for (int i = 0; i < 12; ++i) add(last, i % 2 == 0 ? "" : "  ");
  EXPECT_EQ(last.lines(), Lines({"Traceback:", "", "the true cause"}));
}

TEST(LastLines, OfALineThatWasDrawnOverItselfShowTheLastStateThatShowsAnything) {
  LastLines last;
  add(last, " 10%|#\r 90%|###\r");
  add(last, "100%|####\rloss is nan\r   \r");
  add(last, "  \r ");
  add(last, "as it is  ");
  EXPECT_EQ(last.lines(), Lines({" 90%|###", "loss is nan", "", "as it is  "}));
}

TEST(LastLines, AreNoMoreThanFit) {
  LastLines last;
  for (int i = 0; i < 20; ++i) add(last, std::to_string(i));
  ASSERT_EQ(last.lines().size(), LastLines::kShown);
  EXPECT_EQ(last.lines().front(), "10");
  for (int i = 0; i < 20; ++i) add(last, "");
  add(last, "far below");
  Lines expected(LastLines::kShown);
  expected.back() = "far below";
  EXPECT_EQ(last.lines(), expected);
}

}  // namespace
}  // namespace runnel::cli
