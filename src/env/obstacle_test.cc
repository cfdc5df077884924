#include "env/obstacle.h"

#include <sys/stat.h>

#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

TEST(Obstacle, IsNamedWhereAFolderIsWanted) {
  const testing::TemporaryDirectory folder;
  const std::string file = folder.file("file");
  const std::string pipe = folder.file("pipe");
  MUST(append_file(file, "x"));
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refuse_obstacle(file).error().to_string(),
            file + " is a file, not a folder; move it away");
  EXPECT_EQ(refuse_obstacle(file + "/below/it").error().value, file);
  EXPECT_EQ(refuse_obstacle(pipe).error().message, pipe + " is a pipe, not a folder");
  EXPECT_EQ(refuse_obstacle(pipe).error().code, Errc::kInvalid);
}

TEST(Obstacle, IsNoFolderAndNothingThatIsNotThere) {
  const testing::TemporaryDirectory folder;
  const std::string link = folder.file("link");
  ASSERT_EQ(::symlink(folder.path().c_str(), link.c_str()), 0);
  for (const std::string& path : {folder.path(), link, folder.file("none/below")}) {
    EXPECT_TRUE(refuse_obstacle(path).ok()) << path;
  }
}

}  // namespace
}  // namespace runnel::env
