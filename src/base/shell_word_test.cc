#include "base/shell_word.h"

#include <string>

#include <gtest/gtest.h>

namespace runnel {
namespace {

TEST(ShellWord, QuotesOnlyWhatAShellWouldChange) {
  EXPECT_EQ(shell_word("/mnt/a-b_c.d"), "/mnt/a-b_c.d");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace runnel
