#include "output/index_file.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::output {
namespace {

class IndexFileTest : public ::testing::Test {
 protected:
  void note(std::int64_t from, std::int64_t to) {
    std::string bytes;
    for (std::int64_t task = from; task < to; ++task) {
      IndexRecord record;
      record.task = task;
      append_record(bytes, record);
    }
    MUST(env::append_file(index_path(logs_.path()), bytes));
  }

  env::testing::TemporaryDirectory logs_;
};

TEST_F(IndexFileTest, IsEmptyWithoutAFile) {
  IndexFile index(logs_.path());
  EXPECT_EQ(index.records(), 0);
  EXPECT_FALSE(index.at(0));
}

TEST_F(IndexFileTest, GivesEachRecordInAnyOrder) {
  note(0, 3'000);
  IndexFile index(logs_.path());
  ASSERT_EQ(index.records(), 3'000);
  for (const std::int64_t number : {2'999, 0, 1'023, 1'024, 2'048, 5, 2'047}) {
    ASSERT_TRUE(index.at(number)) << number;
    EXPECT_EQ(index.at(number)->task, number);
  }
  EXPECT_FALSE(index.at(3'000));
}

TEST_F(IndexFileTest, CountsWholeRecordsAsTheyWereWhenItWasOpened) {
  note(0, 2);
  MUST(env::append_file(index_path(logs_.path()), "torn"));
  IndexFile index(logs_.path());
  EXPECT_EQ(index.records(), 2);
}

TEST_F(IndexFileTest, HasNothingForADamagedRecord) {
  note(0, 1);
  MUST(env::append_file(index_path(logs_.path()), std::string(kIndexRecordBytes, 'x')));
  note(2, 3);
  IndexFile index(logs_.path());
  EXPECT_FALSE(index.at(1));
  EXPECT_EQ(index.at(2)->task, 2);
}

}  // namespace
}  // namespace runnel::output
