#include "cli/table.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

Table jobs() {
  Table table({"ID", "NAME", "REASON"});
  table.add({"1m80wqfeewtr", "digits", "the daemon waits for room on its only node"});
  table.add({"1m80wqfeewts", "x", "-"});
  return table;
}

TEST(Table, AlignsWhereverItGoes) {
  Table table({"A", "LONG", "B"});
  table.add({"value", "Grüße", "x"});
  table.add({"v", "", ""});
  EXPECT_EQ(table.text({}), "A      LONG   B\nvalue  Grüße  x\nv\n");
}

TEST(Table, AlignsEveryScript) {
  Table table({"NAME", "N"});
  for (const char* name : {"abcd", "日本", "🚀ab",
                           "e\xcc\x81"
                           "bcd",
                           "✅⌛", "\xff"})
    table.add({name, "1"});
  EXPECT_EQ(table.text({}),
            "NAME  N\nabcd  1\n日本  1\n🚀ab  1\ne\xcc\x81"
            "bcd  1\n✅⌛  1\n\\xff  1\n");
}

TEST(Table, IsTabbedForPrograms) {
  Table table({"A", "B"});
  table.add({"a b", "x\ty"});
  EXPECT_EQ(table.text({.tabs = true, .columns = 4}), "A\tB\na b\tx\\ty\n");
}

TEST(Table, CellsGoOnBelowBetweenWords) {
  EXPECT_EQ(jobs().text({.columns = 46}),
            "ID            NAME    REASON\n"
            "1m80wqfeewtr  digits  the daemon waits for\n"
            "                      room on its only node\n"
            "1m80wqfeewts  x       -\n");
}

TEST(Table, WordsAreCutLastAndIdsNever) {
  const std::string text = jobs().text({.columns = 24});
  EXPECT_EQ(text.substr(0, text.find("1m80wqfeewts")),
            "ID            NAME  REA…\n"
            "1m80wqfeewtr  dig…  the\n"
            "                    dae…\n"
            "                    wai…\n"
            "                    for\n"
            "                    room\n"
            "                    on\n"
            "                    its\n"
            "                    only\n"
            "                    node\n");
}

TEST(Table, TheHeaderIsCutBeforeWhatItHeads) {
  Table table({"STATUS", "RUNNING"});
  table.add({"SUCCEEDED", "0"});
  EXPECT_EQ(table.text({.columns = 16}), "STATUS     RUNN…\nSUCCEEDED  0\n");
}

TEST(Table, NothingOfACellLeavesIt) {
  Table table({"NAME"});
  table.add({"a\n0 forged\x1b[2J"});
  EXPECT_EQ(table.text({}), "NAME\na\\n0 forged\\x1b[2J\n");
}

TEST(Table, StatesHaveColours) {
  Table table({"STATUS", "NAME"});
  table.add({"FAILED", "FAILED job"});
  EXPECT_EQ(table.text({.colours = true}), "STATUS  NAME\n\x1b[31mFAILED\x1b[0m  FAILED job\n");
}

}  // namespace
}  // namespace runnel::cli
