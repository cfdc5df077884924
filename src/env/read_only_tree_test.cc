#include "env/read_only_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/remove_tree.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

mode_t bits_of(const std::string& path) {
  struct stat seen{};
  EXPECT_EQ(::lstat(path.c_str(), &seen), 0) << path;
  return seen.st_mode & 07777;
}

TEST(ReadOnlyTree, TakesThePermissionToWriteFromAllButLinks) {
  const testing::TemporaryDirectory folder;
  const std::string tree = folder.path() + "/tree";
  const std::string outside = folder.path() + "/outside";
  MUST(make_directories(tree + "/a/b"));
  MUST(write_file_atomically(tree + "/a/b/file", "1"));
  MUST(write_file_atomically(outside, "2"));
  ASSERT_EQ(::chmod((tree + "/a/b/file").c_str(), 0755), 0);
  ASSERT_EQ(::symlink(outside.c_str(), (tree + "/a/link").c_str()), 0);
  const mode_t before = bits_of(outside);
  MUST(make_tree_read_only(tree));
  EXPECT_EQ(bits_of(tree + "/a/b/file"), 0555U);
  EXPECT_EQ(bits_of(tree + "/a/b") & 0222U, 0U);
  EXPECT_EQ(bits_of(outside), before);
  MUST(remove_tree(tree));
  EXPECT_FALSE(exists(tree));
}

TEST(ReadOnlyTree, WhatIsNotThereIsAnError) {
  const testing::TemporaryDirectory folder;
  EXPECT_EQ(make_tree_read_only(folder.path() + "/none").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::env
