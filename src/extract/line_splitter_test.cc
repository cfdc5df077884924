#include "extract/line_splitter.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::extract {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text, std::size_t piece) {
  LineSplitter splitter;
  Lines lines;
  const auto use = [&](std::string_view line) { lines.emplace_back(line); };
  while (!text.empty()) {
    splitter.add(text.substr(0, piece), use);
    text.remove_prefix(std::min(piece, text.size()));
  }
  splitter.end(use);
  return lines;
}

void expect_lines(std::string_view text, const Lines& expected) {
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, text.size() + 1}) {
    EXPECT_EQ(lines_of(text, piece), expected) << "in pieces of " << piece;
  }
}

TEST(LineSplitter, EndsLinesAtEitherKindOfEndAndDropsBlankOnes) {
  expect_lines("a\nb\r\n\r\n  \t\n c\rd", {"a", "b", " c", "d"});
}

TEST(LineSplitter, GivesNothingOfNothing) {
  expect_lines("", {});
  expect_lines("\n\n\r", {});
}

TEST(LineSplitter, DropsColoursAndOtherCommandsToTheTerminal) {
  expect_lines("\x1b[1;31mloss\x1b[0m = \x1b[2K3\n", {"loss = 3"});
  expect_lines(
      "a\x1b"
      "7b\n",
      {"ab"});
}

TEST(LineSplitter, DropsACommandThatIsCutOff) {
  expect_lines("a\x1b[12\n", {"a"});
  expect_lines("a\x1b\n", {"a"});
  expect_lines("\x1b[0m\n", {});
}

TEST(LineSplitter, KeepsTheBeginningOfALongLine) {
  const std::string line(LineSplitter::kLineBytesMax + 10, 'x');
  const Lines lines = lines_of(line + "\nnext\n", 1'000);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), LineSplitter::kLineBytesMax);
  EXPECT_EQ(lines[1], "next");
}

TEST(LineSplitter, SkipsTheRestOfALine) {
  LineSplitter splitter;
  Lines lines;
  const auto use = [&](std::string_view line) { lines.emplace_back(line); };
  splitter.add("one\ntw", use);
  splitter.skip_line();
  splitter.add("o", use);
  splitter.add("\nthree\n", use);
  EXPECT_EQ(lines, (Lines{"one", "three"}));
}

}  // namespace
}  // namespace runnel::extract
