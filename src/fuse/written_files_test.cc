#include "fuse/written_files.h"

#include <gtest/gtest.h>

namespace runnel::fuse {
namespace {

// Threads 10 to 19 are of process 1, and so on; those below 10 have ended.
WrittenFiles some_files() {
  return WrittenFiles(8, [](std::int64_t thread) { return thread / 10; });
}

TEST(WrittenFiles, AHandleThatWroteIsToBeCommittedOnce) {
  WrittenFiles files = some_files();
  const WrittenFiles::Handle one = files.open();
  const WrittenFiles::Handle other = files.open();
  EXPECT_NE(one, other);
  EXPECT_NE(one, WrittenFiles::kOfReader);
  files.wrote(one, 10);
  EXPECT_FALSE(files.has_written(other));
  EXPECT_TRUE(files.has_written(one));
  files.committed(one);
  EXPECT_FALSE(files.has_written(one)) << "nothing since";
  files.wrote(one, 10);
  EXPECT_TRUE(files.has_written(one));
  EXPECT_FALSE(files.has_written(WrittenFiles::kOfReader));
}

TEST(WrittenFiles, ACopyThatAForkedProcessClosesSaysNothing) {
  WrittenFiles files = some_files();
  const WrittenFiles::Handle one = files.open();
  EXPECT_FALSE(files.is_closed_by_writer(one, 10)) << "nothing was written";
  files.wrote(one, 10);
  EXPECT_TRUE(files.is_closed_by_writer(one, 10));
  EXPECT_TRUE(files.is_closed_by_writer(one, 11)) << "another thread of the process";
  EXPECT_FALSE(files.is_closed_by_writer(one, 20));
  files.wrote(one, 5);
  EXPECT_TRUE(files.is_closed_by_writer(one, 20)) << "who wrote has ended";
}

TEST(WrittenFiles, AHandleOfAServerBeforeMayHaveWritten) {
  WrittenFiles files = some_files();
  EXPECT_TRUE(files.has_written(77));
  files.wrote(77, 10);
  files.committed(77);
  EXPECT_TRUE(files.has_written(77));
  EXPECT_TRUE(files.is_closed_by_writer(77, 20));
}

}  // namespace
}  // namespace runnel::fuse
