#include "home/server_of_volumes.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "env/testing/temporary_directory.h"

namespace runnel::home {
namespace {

TEST(ServerOfVolumes, OutlivesATaskAndHasNoSecretsOfWhoStartsIt) {
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  ::setenv("RUNNEL_ATTEMPT_KEY", "token.1:2:0", 1);
  ::setenv("https_proxy", "http://proxy:3128", 1);
  const env::DetachedProcess server = server_of_volumes(Home{"/h"}, "/bin/runnel");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  ::unsetenv("RUNNEL_ATTEMPT_KEY");
  ::unsetenv("https_proxy");
  EXPECT_EQ(server.argv,
            (std::vector<std::string>{"/bin/runnel", "--home", "/h", "volume", "serve"}));
  EXPECT_EQ(server.log_file, "/h/mounts.log");
  EXPECT_EQ(std::ranges::count(server.environment, "RUNNEL_ATTEMPT_KEY=detached"), 1);
  EXPECT_EQ(std::ranges::count(server.environment, "https_proxy=http://proxy:3128"), 1);
  for (const std::string& variable : server.environment) {
    EXPECT_EQ(variable.find("secret"), std::string::npos) << variable;
    EXPECT_EQ(variable.find("token"), std::string::npos) << variable;
  }
}

TEST(ServerOfVolumes, IsForAHomeThatIsNotThereYet) {
  const env::testing::TemporaryDirectory folder;
  EXPECT_TRUE(may_have_server(Home{folder.file("not/there/yet")}));
}

}  // namespace
}  // namespace runnel::home
