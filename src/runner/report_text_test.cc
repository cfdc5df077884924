#include "runner/report_text.h"

#include <gtest/gtest.h>

namespace runnel::runner {
namespace {

TEST(ReportText, LeavesWhatFits) {
  EXPECT_EQ(report_text(""), "");
  const std::string longest(kReportTextMax, 'x');
  EXPECT_EQ(report_text(longest), longest);
}

TEST(ReportText, CutsAndSaysSo) {
  const std::string cut = report_text(std::string(70'000, 'x'));
  EXPECT_EQ(cut, std::string(kReportTextMax - 3, 'x') + "...");
}

TEST(ReportText, CutsBetweenCharacters) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'x');
    while (text.size() < 2 * kReportTextMax) text += "\xF0\x9F\x98\x80";
    const std::string cut = report_text(text);
    EXPECT_LE(cut.size(), kReportTextMax);
    EXPECT_EQ((cut.size() - 3 - shift) % 4, 0U) << shift;
  }
}

}  // namespace
}  // namespace runnel::runner
