#include "cli/task_name.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

TEST(TaskName, IsJobStepAndTask) {
  EXPECT_EQ(parse_task_name("1m7z/train/3"), (TaskName{"1m7z", "train", 3, {}}));
  EXPECT_EQ(parse_task_name("1m7z/train/3#12"), (TaskName{"1m7z", "train", 3, 12}));
  EXPECT_EQ(parse_task_name("1m7z/0/0"), (TaskName{"1m7z", "0", 0, {}}));
}

TEST(TaskName, AnythingElseIsNone) {
  for (const char* text : {"", "1m7z", "1m7z/train", "1m7z/train/", "1m7z/train/x", "1m7z//3",
                           "/train/3", "1m7z/train/-1", "1m7z/train/3#", "1m7z/train/3#x",
                           "1m7z/train/3#0", "1m7z/train/3 ", "1m7z/train/99999999999999999999"}) {
    EXPECT_FALSE(parse_task_name(text)) << text;
  }
}

}  // namespace
}  // namespace runnel::cli
