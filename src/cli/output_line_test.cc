#include "cli/output_line.h"

#include <gtest/gtest.h>

#include "control/log_lines.h"

namespace runnel::cli {
namespace {

// The client's side of control::LogLines: nothing is lost on the way.
std::string there_and_back(const std::string& bytes) {
  model::LogPiece piece;
  piece.bytes = bytes;
  std::string back;
  std::string lines;
  control::LogLines(piece, "s").append(lines, bytes.size());
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    back += exact_bytes(MUST(json::parse(lines.substr(at, end - at))));
    at = end + 1;
  }
  return back;
}

TEST(OutputLine, EveryByteArrivesAsItWasWritten) {
  std::string all;
  for (int round = 0; round < 3; ++round) {
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  }
  const std::string texts[] = {
      "hello\n", "no end", "", "\n\n", "10%\r50%\r100%\r\n", "a\r", all, "gr\xc3\xbc\xc3\x9f\n",
      "\xc3"};
  for (const std::string& text : texts) EXPECT_EQ(there_and_back(text), text);
}

TEST(OutputLine, KnowsJobsOfManyRanks) {
  const auto many = [](const char* steps) { return has_many_ranks(MUST(json::parse(steps))); };
  EXPECT_FALSE(many("{}"));
  EXPECT_FALSE(many("{\"steps\":[{\"tasks\":1,\"ranks\":1}]}"));
  EXPECT_TRUE(many("{\"steps\":[{\"tasks\":2}]}"));
  EXPECT_TRUE(many("{\"steps\":[{\"ranks\":2}]}"));
  EXPECT_TRUE(many("{\"steps\":[{},{}]}"));
}

}  // namespace
}  // namespace runnel::cli
