#include "cli/given_envs.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/remove_tree.h"

namespace runnel::cli {
namespace {

class GivenEnvsTest : public ::testing::Test {
 protected:
  GivenEnvsTest() : folder_(MUST(env::make_temporary_directory("runnel-envs-"))) {}
  ~GivenEnvsTest() override { EXPECT_TRUE(env::remove_tree(folder_).ok()); }
  std::string file(const std::string& text) const {
    MUST(env::write_file_atomically(path(), text));
    return path();
  }
  std::string path() const { return folder_ + "/list.env"; }

  std::string folder_;
};

TEST_F(GivenEnvsTest, AFlagWinsOverAFile) {
  EXPECT_EQ(MUST(given_envs({file("# more\nA=1\n\nB=x=y")}, {"A=2"})),
            (Envs{{"A", "2"}, {"B", "x=y"}}));
}

TEST_F(GivenEnvsTest, AFaultInAFileNamesItsLine) {
  const auto envs = given_envs({file("A=1\n# note\n=value\n")}, {});
  ASSERT_FALSE(envs.ok());
  EXPECT_EQ(envs.error().to_string(),
            path() +
                ":3:1: --env-file: '=value' is not of the form NAME=value; "
                "write NAME=value, or NAME for its value in this shell");
}

TEST_F(GivenEnvsTest, AFileThatCannotBeReadIsAFaultOfUsage) {
  for (const std::string& unreadable : {path(), folder_, folder_ + "/list.env/below"}) {
    const auto envs = given_envs({unreadable}, {});
    ASSERT_FALSE(envs.ok()) << unreadable;
    EXPECT_EQ(envs.error().code, Errc::kInvalid);
    EXPECT_EQ(envs.error().field, "--env-file");
    EXPECT_EQ(envs.error().hint, "name a file that you can read: ls -ld " + unreadable);
  }
}

}  // namespace
}  // namespace runnel::cli
