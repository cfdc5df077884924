#include "writing/log_folder.h"

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::writing {
namespace {

constexpr std::uint64_t kSize = 64 << 10;

TEST(LogFolderTest, WritesAtOnceUntilItHasWaited) {
  const env::testing::TemporaryDirectory folder;
  const auto files = MUST(LogFolder::open(folder.path() + "/log"));
  MUST(files->make(1, "header", kSize));
  EXPECT_TRUE(files->writes_at_once()) << "nothing has been slow";
  MUST(files->write(1, 100, "bytes"));
  EXPECT_EQ(MUST(files->read_part(1, 100, 5)), "bytes");
}

TEST(LogFolderTest, RoomThatIsPromisedIsThereAndHasZeros) {
  const env::testing::TemporaryDirectory folder;
  const auto files = MUST(LogFolder::open(folder.path() + "/log"));
  for (const auto room : {LogFiles::Room::kPromised, LogFiles::Room::kWritten}) {
    const std::uint64_t number = room == LogFiles::Room::kPromised ? 1 : 2;
    MUST(files->hold_room(kSize, room, LogFiles::Reserve::kLeave));
    MUST(files->make(number, "header", kSize));
    MUST(files->write(number, 100, "bytes"));
    MUST(files->sync(number));
    const std::string all = MUST(files->read(number));
    EXPECT_EQ(all.size(), kSize);
    EXPECT_EQ(all.substr(0, 7), std::string("header\0", 7));
    EXPECT_EQ(all.substr(100, 6), std::string("bytes\0", 6));
    struct stat seen{};
    const std::string path = folder.path() + "/log/00000" + std::to_string(number) + ".log";
    ASSERT_EQ(::stat(path.c_str(), &seen), 0);
    EXPECT_GE(static_cast<std::uint64_t>(seen.st_blocks) * 512, kSize) << "no write finds none";
  }
}

TEST(LogFolderTest, KeepsWhatIsWrittenInItsSegments) {
  const env::testing::TemporaryDirectory folder;
  const std::string path = folder.path() + "/writing/log";
  {
    const auto files = MUST(LogFolder::open(path));
    EXPECT_TRUE(MUST(files->numbers()).empty());
    for (const std::uint64_t number : {2, 1, 10}) MUST(files->make(number, "header", kSize));
    MUST(files->write(2, 100, "bytes"));
    MUST(files->sync(2));
    MUST(files->write(10, 6, "more"));
    MUST(files->remove(1));
    MUST(files->remove(1));
    MUST(files->make(4, "retired", kSize));
    MUST(files->retire(4));
    MUST(files->retire(4));
    EXPECT_EQ(MUST(files->read_part(4, 2, 5)), "tired");
    EXPECT_EQ(MUST(files->read_part(2, 100, 5)), "bytes");
    EXPECT_EQ(files->read_part(2, kSize - 1, 5).error().code, Errc::kCorrupt);
    MUST(files->hold_room(kSize, LogFiles::Room::kWritten, LogFiles::Reserve::kLeave));
    EXPECT_EQ(LogFolder::open(path).error().code, Errc::kConflict);
  }
  for (const char* name : {"note", "1.log", "000003.log.old"}) {
    MUST(env::append_file(path + "/" + name, "somebody's"));
  }
  const auto files = MUST(LogFolder::open(path));
  EXPECT_EQ(MUST(files->numbers()), (std::vector<std::uint64_t>{2, 10}));
  EXPECT_EQ(MUST(files->retired()), (std::vector<std::uint64_t>{4}));
  MUST(files->remove(4));
  EXPECT_TRUE(MUST(files->retired()).empty());
  const std::string second = MUST(files->read(2));
  EXPECT_EQ(second.size(), kSize);
  EXPECT_EQ(second.substr(0, 6), "header");
  EXPECT_EQ(second.substr(100, 6), std::string("bytes\0", 6));
  EXPECT_EQ(MUST(files->read(10)).substr(0, 11), std::string("headermore\0", 11));
  EXPECT_FALSE(env::exists(path + "/spare")) << "of one that was killed";
  EXPECT_TRUE(env::exists(path + "/note"));
  EXPECT_EQ(MUST(env::file_info(path + "/000002.log")).mode & 0077U, 0U);
}

}  // namespace
}  // namespace runnel::writing
