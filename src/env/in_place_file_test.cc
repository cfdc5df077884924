#include "env/in_place_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

TEST(InPlaceFile, HoldsWhatWasWrittenLast) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("note");
  InPlaceFile file = MUST(InPlaceFile::open(path));
  MUST(file.write("one"));
  MUST(file.write("two"));
  MUST(file.sync());
  EXPECT_EQ(MUST(read_file(path)), "two");
  InPlaceFile again = MUST(InPlaceFile::open(path));
  EXPECT_EQ(MUST(read_file(path)), "two") << "opening changes nothing";
}

TEST(InPlaceFile, IsStillTheSameAfterItWasMoved) {
  const testing::TemporaryDirectory folder;
  InPlaceFile file = MUST(InPlaceFile::open(folder.file("note")));
  MUST(rename_file(folder.file("note"), folder.file("moved")));
  MUST(file.write("one"));
  EXPECT_EQ(MUST(read_file(folder.file("moved"))), "one");
  EXPECT_FALSE(exists(folder.file("note")));
}

TEST(InPlaceFile, IsOnlyForItsOwner) {
  const testing::TemporaryDirectory folder;
  (void)MUST(InPlaceFile::open(folder.file("note")));
  const std::filesystem::perms all = std::filesystem::status(folder.file("note")).permissions();
  EXPECT_EQ(all & std::filesystem::perms::others_read, std::filesystem::perms::none);
  EXPECT_EQ(all & std::filesystem::perms::group_read, std::filesystem::perms::none);
}

TEST(InPlaceFile, NamesWhatItCannotOpen) {
  const testing::TemporaryDirectory folder;
  MUST(make_directories(folder.file("note")));
  for (const std::string& path : {folder.file("note"), folder.file("absent/note")}) {
    const Result<InPlaceFile> file = InPlaceFile::open(path);
    ASSERT_FALSE(file.ok());
    EXPECT_NE(file.error().message.find(path), std::string::npos) << file.error().message;
  }
}

TEST(InPlaceFile, FollowsNoLink) {
  const testing::TemporaryDirectory folder;
  MUST(write_file_atomically(folder.file("other"), "mine"));
  std::filesystem::create_symlink(folder.file("other"), folder.file("note"));
  EXPECT_FALSE(InPlaceFile::open(folder.file("note")).ok());
}

}  // namespace
}  // namespace runnel::env
