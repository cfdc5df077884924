#include "volume/folder_difference.h"

#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "volume/get.h"
#include "volume/put_preview.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using Paths = std::vector<std::string>;

class DifferenceTest : public ::testing::Test {
 protected:
  DifferenceTest() {
    data_.put({{"a/x", "1"}, {"a/y", "2"}, {"b/deep/z", "3"}, {"f", "4"}});
    GetOptions options;
    options.keeps_same = true;
    data_.run(get_tree(*data_.loop(), data_.volume(), "latest", "", place(""), options, {}));
  }

  std::string place(const std::string& path) const { return folder_.path() + "/copy/" + path; }
  void write(const std::string& path, const std::string& bytes) {
    MUST(env::make_directories(env::parent_of(place(path))));
    MUST(env::write_file_atomically(place(path), bytes));
  }
  FolderDifference compare() {
    Snapshot newest = data_.run(data_.volume().snapshot("latest"));
    return data_.run(
        compare_folder(*data_.loop(), newest, kRootInode, folder_.path() + "/copy", {}));
  }
  PutPreview preview(const std::string& into) {
    Snapshot newest = data_.run(data_.volume().snapshot("latest"));
    return data_.run(preview_mirror(*data_.loop(), newest, into,
                                    MUST(SourceTree::open(folder_.path() + "/copy")), {}));
  }

  env::testing::TemporaryDirectory folder_;
  testing::MemoryVolume data_;
};

TEST_F(DifferenceTest, WhatWasGotIsNoDifference) {
  EXPECT_EQ(compare().surplus, Paths());
  EXPECT_EQ(compare().missing, Paths());
  EXPECT_EQ(preview("").removed, Paths());
  EXPECT_EQ(preview("").put, Paths());
}

TEST_F(DifferenceTest, NamesWhatIsTooMuchAndWhatIsOther) {
  write("more/than/this", "5");
  write("a/more", "6");
  write("a/x", "other");
  MUST(env::remove_file(place("f")));
  EXPECT_EQ(compare().surplus, (Paths{"a/more", "more"}));
  EXPECT_EQ(compare().missing, (Paths{"a/x", "f"}));
}

TEST_F(DifferenceTest, AFileInPlaceOfAFolderIsTooMuch) {
  MUST(env::rename_file(place("b"), place("elsewhere")));
  write("b", "a file");
  MUST(env::remove_file(place("f")));
  MUST(env::make_directories(place("f")));
  EXPECT_EQ(compare().surplus, (Paths{"b", "f", "elsewhere"}));
  EXPECT_EQ(compare().missing, (Paths{"b/deep/z", "f"}));
}

TEST_F(DifferenceTest, NoLinkIsFollowed) {
  MUST(env::rename_file(place("b"), folder_.path() + "/elsewhere"));
  ASSERT_EQ(::symlink("../elsewhere", place("b").c_str()), 0);
  write("../elsewhere/somebody's", "5");
  EXPECT_EQ(compare().surplus, Paths{"b"}) << "the link itself, and nothing behind it";
}

TEST_F(DifferenceTest, AFolderThatIsNotThereHasNothing) {
  Snapshot newest = data_.run(data_.volume().snapshot("latest"));
  const FolderDifference all =
      data_.run(compare_folder(*data_.loop(), newest, kRootInode, folder_.path() + "/none", {}));
  EXPECT_EQ(all.surplus, Paths());
  EXPECT_EQ(all.missing, (Paths{"a/x", "a/y", "b/deep/z", "f"}));
}

TEST_F(DifferenceTest, APreviewSaysWhatAMirrorDoes) {
  write("a/x", "other");
  write("new/file", "5");
  MUST(env::remove_file(place("f")));
  const PutPreview told = preview("");
  EXPECT_EQ(told.removed, Paths{"f"});
  EXPECT_EQ(told.put, (Paths{"a/x", "new", "new/file"}));
  EXPECT_EQ(preview("not/there").removed, Paths());
  EXPECT_EQ(preview("not/there").put.size(), 8U) << "all of it";
  const std::string path = folder_.path() + "/copy";
  data_.run(
      put_tree(*data_.loop(), data_.volume(), MUST(SourceTree::open(path)), {.mirror = true}, {}));
  EXPECT_EQ(preview("").removed, Paths());
  EXPECT_EQ(preview("").put, Paths());
}

TEST_F(DifferenceTest, AGetThatKeepsWhatIsTheSameWritesTheRest) {
  write("a/x", "other");
  GetOptions options;
  options.keeps_same = true;
  const GetProgress got =
      data_.run(get_tree(*data_.loop(), data_.volume(), "latest", "", place(""), options, {}));
  EXPECT_EQ(got.files, 1);
  EXPECT_EQ(MUST(env::read_file(place("a/x"))), "1");
}

}  // namespace
}  // namespace runnel::volume
