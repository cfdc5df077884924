#include "volume/folder_root.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::volume {
namespace {

using Parts = std::pair<std::string, std::string>;

TEST(FolderRootTest, APathIsANameInAFolder) {
  EXPECT_EQ(FolderRoot::split("a/b/c"), Parts("a/b", "c"));
  EXPECT_EQ(FolderRoot::split("/a/b//"), Parts("/a", "b"));
  EXPECT_EQ(FolderRoot::split("/a"), Parts("/", "a"));
  EXPECT_EQ(FolderRoot::split("a"), Parts(".", "a"));
  EXPECT_EQ(FolderRoot::split("../a"), Parts("..", "a"));
  for (const char* itself : {".", "..", "a/..", "a/."}) {
    EXPECT_EQ(FolderRoot::split(itself), Parts(itself, "")) << itself;
  }
  EXPECT_EQ(FolderRoot::split("/"), Parts("/", ""));
  EXPECT_EQ(FolderRoot::split(""), Parts(".", ""));
}

TEST(FolderRootTest, NothingBehindALinkIsReached) {
  const env::testing::TemporaryDirectory folder;
  const std::string at = MUST(env::real_path(folder.path()));
  MUST(env::make_directories(at + "/in/deep"));
  MUST(env::make_directories(at + "/out"));
  MUST(env::write_file_atomically(at + "/out/file", "theirs"));
  MUST(env::write_file_atomically(at + "/in/deep/file", "ours"));
  ASSERT_EQ(::symlink("../out", (at + "/in/link").c_str()), 0);
  ASSERT_EQ(::symlink("deep", (at + "/in/inner").c_str()), 0);
  FolderRoot root = MUST(FolderRoot::open(at + "/in", true));
  EXPECT_EQ(MUST(root.names("")), (std::vector<std::string>{"deep", "inner", "link"}));
  EXPECT_TRUE(root.open_below("deep/file", O_RDONLY).ok());
  for (const char* below : {"link/file", "inner/file", "../out/file", "link", "deep/file/x"}) {
    const auto opened = root.open_below(below, O_RDONLY);
    ASSERT_FALSE(opened.ok()) << below;
    EXPECT_EQ(opened.error().code, Errc::kConflict) << below;
  }
  EXPECT_EQ(root.look("link/file").error().code, Errc::kConflict);
  EXPECT_TRUE(S_ISLNK(MUST(root.look("link")).st_mode));
  EXPECT_EQ(MUST(root.target_of("link")), "../out");
  EXPECT_TRUE(S_ISDIR(MUST(root.look("")).st_mode));
  EXPECT_EQ(root.folder_of("").error().code, Errc::kConflict);
  EXPECT_EQ(FolderRoot::open(at + "/in/link", true).error().code, Errc::kConflict);
  EXPECT_TRUE(FolderRoot::open(at + "/in/link", false).ok()) << "as it is named";
}

}  // namespace
}  // namespace runnel::volume
