#include "cli/outputs.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/remove_tree.h"
#include "output/metrics_file.h"

namespace runnel::cli {
namespace {

class OutputsTest : public ::testing::Test {
 protected:
  ~OutputsTest() override { EXPECT_TRUE(env::remove_tree(home_.root).ok()); }

  void make(const std::string& folder) { ASSERT_TRUE(env::make_directories(folder).ok()); }
  void write(const std::string& path) { ASSERT_TRUE(env::append_file(path, "x").ok()); }

  home::Home home_{MUST(env::make_temporary_directory("runnel-outputs-"))};
  const std::string task_ = home_.tasks_folder("j1") + "/0.0";
};

TEST_F(OutputsTest, AreWhatTasksLeaveAndNotWhatWeWriteThere) {
  EXPECT_FALSE(has_outputs(home_, "j1")) << "it never ran";
  make(home_.shared_folder("j1"));
  make(task_ + "/checkpoint");
  write(output::metrics_path(task_));
  EXPECT_FALSE(has_outputs(home_, "j1"));
  write(task_ + "/checkpoint/model.pt");
  EXPECT_TRUE(has_outputs(home_, "j1"));
}

TEST_F(OutputsTest, AreInTheSharedFolderToo) {
  make(home_.shared_folder("j1"));
  write(home_.shared_folder("j1") + "/table.csv");
  EXPECT_TRUE(has_outputs(home_, "j1"));
  EXPECT_FALSE(has_outputs(home_, "j2"));
}

TEST_F(OutputsTest, AreBelievedOfMoreTasksThanAreLookedAt) {
  for (int task = 0; task < 100; ++task)
    make(home_.tasks_folder("j1") + "/0." + std::to_string(task));
  EXPECT_TRUE(has_outputs(home_, "j1"));
}

}  // namespace
}  // namespace runnel::cli
