#include "home/home.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/remove_tree.h"

namespace runnel::home {
namespace {

// What a home without an event log has among the files of its jobs.
Result<void> opened_with(const std::string& name) {
  const std::string folder = MUST(env::make_temporary_directory("runnel-home-"));
  const Home home = MUST(find_home(folder));
  std::filesystem::create_directories(home.jobs() + "/" + name);
  const Result<void> checked = refuse_lost_log(home);
  MUST(env::remove_tree(folder));
  return checked;
}

TEST(Home, WithTheFilesOfAJobAndWithoutALogHasLostIt) {
  EXPECT_EQ(opened_with("0dm3k7q2f9wx").error().code, Errc::kCorrupt);
  for (const char* name : {"mine", "0dm3k7q2f9wxx", "what somebody has put there"}) {
    EXPECT_TRUE(opened_with(name).ok()) << name << " is no id of a job";
  }
}

}  // namespace
}  // namespace runnel::home
