#include "cli/shell_environment.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

TEST(ShellEnvironment, TakesWhereProgramsAreAndNoSecrets) {
  EXPECT_EQ(shell_environment({"PATH=/venv/bin:/bin", "AWS_SECRET_ACCESS_KEY=x", "LC_ALL=C",
                               "VIRTUAL_ENV=/venv", "GITHUB_TOKEN=y", "RUNNEL_HOME=/h", "RANK=3"}),
            (Variables{{"LC_ALL", "C"}, {"PATH", "/venv/bin:/bin"}, {"VIRTUAL_ENV", "/venv"}}));
}

TEST(ShellEnvironment, LeavesOutWhatCannotBeKept) {
  EXPECT_EQ(shell_environment({"PATH=\xff", "HOME", "=x", "TZ=a", "TZ=b", "USER="}),
            (Variables{{"TZ", "a"}, {"USER", ""}}));
}

}  // namespace
}  // namespace runnel::cli
