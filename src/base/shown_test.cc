#include "base/shown.h"

#include <gtest/gtest.h>

namespace runnel {
namespace {

TEST(Shown, IsOneLineAndSaysWhatIsLeftOut) {
  EXPECT_EQ(shown("short"), "short");
  EXPECT_EQ(shown("first\nsecond"), "first...");
  EXPECT_EQ(shown(std::string(61, 'x')), std::string(60, 'x') + "...");
  EXPECT_EQ(shown(std::string(61, 'x') + "\ny"), std::string(60, 'x') + "...");
}

TEST(Shown, CutsBetweenCharacters) {
  EXPECT_EQ(shown(std::string(59, 'x') + "\xC3\xBC\xC3\xBC"), std::string(59, 'x') + "...");
}

TEST(Shown, KeepsWhatFits) {
  EXPECT_EQ(shown(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(shown(""), "");
  EXPECT_EQ(shown("\n"), "...");
}

TEST(Shown, TellsOnceThatSomethingIsLeftOut) {
  const std::string line(80, 'x');
  EXPECT_EQ(shown(line + "\n" + line), std::string(60, 'x') + "...");
  EXPECT_EQ(shown(std::string(60, 'x') + "\nmore"), std::string(60, 'x') + "...");
}

TEST(Shown, ListsWordsInBackticks) {
  const std::vector<std::string_view> words = {"a", "b"};
  EXPECT_EQ(listed(words), "`a`, `b`");
  EXPECT_EQ(listed({}), "");
}

}  // namespace
}  // namespace runnel
