#include "store/sqlite/detail/copies.h"

#include <gtest/gtest.h>

#include "env/clock.h"
#include "env/files.h"
#include "env/remove_tree.h"
#include "env/testing/length_limit.h"
#include "env/testing/temporary_directory.h"

namespace runnel::store::sqlite {
namespace {

class Copies : public ::testing::Test {
 protected:
  void SetUp() override {
    MUST(env::write_file_atomically(path_, "database"));
    MUST(env::write_file_atomically(path_ + "-wal", "log"));
  }

  std::string copy(Again again = Again::kUseTheLast, Duration later = Duration()) {
    return MUST(copy_damaged(path_, env::real_clock().wall() + later, again));
  }

  env::testing::TemporaryDirectory folder_;
  std::string path_ = folder_.file("log.db");
};

TEST_F(Copies, HoldTheDatabaseAndItsWriteAheadLog) {
  const std::string folder = copy();
  EXPECT_TRUE(folder.starts_with(folder_.file("damaged-20"))) << folder;
  EXPECT_EQ(MUST(env::read_file(folder + "/log.db")), "database");
  EXPECT_EQ(MUST(env::read_file(folder + "/log.db-wal")), "log");
  EXPECT_EQ(last_copy(path_), folder);
}

TEST_F(Copies, AreMadeOnceForTheSameFiles) {
  const std::string first = copy();
  EXPECT_EQ(copy(Again::kUseTheLast, Duration::hours(1)), first);
  EXPECT_NE(copy(Again::kCopy, Duration::hours(1)), first);
}

TEST_F(Copies, AreMadeAnewWhenTheFilesChanged) {
  const std::string first = copy();
  // A file of the future is certainly newer than the copy.
  MUST(env::remove_tree(first));
  MUST(env::make_directories(first));
  MUST(env::write_file_atomically(first + "/log.db", "old"));
  std::string second;
  for (int i = 0; i < 50 && (second.empty() || second == first); ++i) {
    MUST(env::write_file_atomically(path_, "database " + std::to_string(i)));
    second = copy(Again::kUseTheLast, Duration::hours(1));
  }
  EXPECT_NE(second, first);
}

TEST_F(Copies, WithinOneSecondHaveNamesOfTheirOwn) {
  const Time now = Time::from_millis(1'900'000'000'000);
  const std::string first = MUST(copy_damaged(path_, now, Again::kCopy));
  const std::string second = MUST(copy_damaged(path_, now, Again::kCopy));
  EXPECT_EQ(first, folder_.file("damaged-20300317T174640Z"));
  EXPECT_EQ(second, first + "-2");
}

TEST_F(Copies, OfAVanishedDatabaseHoldTheRest) {
  MUST(env::remove_file(path_));
  const std::string folder = copy();
  EXPECT_TRUE(env::exists(folder + "/log.db-wal"));
  EXPECT_FALSE(env::exists(folder + "/log.db"));
}

TEST_F(Copies, OfAVanishedDatabaseAreMadeOnce) {
  MUST(env::remove_file(path_));
  const std::string first = copy();
  EXPECT_EQ(copy(Again::kUseTheLast, Duration::hours(1)), first);
  MUST(env::remove_file(path_ + "-wal"));
  MUST(env::write_file_atomically(path_ + "-head", "batch 7"));
  const std::string second = copy(Again::kUseTheLast, Duration::hours(1));
  EXPECT_NE(second, first);
  EXPECT_EQ(copy(Again::kUseTheLast, Duration::hours(2)), second);
  EXPECT_EQ(MUST(env::read_file(second + "/log.db-head")), "batch 7");
}

TEST_F(Copies, OfFailingOpeningsAreBounded) {
  std::string last;
  for (int i = 0; i < 20; ++i) {
    MUST(env::write_file_atomically(path_, std::string(static_cast<std::size_t>(i), 'x')));
    last = copy(Again::kUseTheLast, Duration::hours(i));
  }
  MUST(env::write_file_atomically(path_, "one more"));
  const Result<std::string> refused =
      copy_damaged(path_, env::real_clock().wall(), Again::kUseTheLast);
  EXPECT_EQ(refused.error().code, Errc::kFull);
  EXPECT_NE(refused.error().message.find("20 copies"), std::string::npos);
  EXPECT_FALSE(copy(Again::kCopy, Duration::hours(30)).empty()) << "a repair copies in any case";
}

TEST_F(Copies, ThatCannotBeFinishedAreRemoved) {
  MUST(env::write_file_atomically(path_, std::string(100'000, 'x')));
  {
    const env::testing::LengthLimit limit(Bytes::kibi(64));
    EXPECT_FALSE(copy_damaged(path_, env::real_clock().wall(), Again::kCopy).ok());
  }
  EXPECT_EQ(last_copy(path_), "");
  for (const std::string& name : MUST(env::list_directory(folder_.path()))) {
    EXPECT_FALSE(name.starts_with("damaged-")) << name;
  }
}

TEST_F(Copies, AreOnlyForTheirOwner) {
  const std::string folder = copy();
  EXPECT_EQ(MUST(env::list_directory(folder)), (std::vector<std::string>{"log.db", "log.db-wal"}));
}

TEST_F(Copies, NoneIsTheLastWhereThereIsNone) {
  EXPECT_EQ(last_copy(path_), "");
  MUST(env::make_directories(folder_.file("damaged-by-hand")));
  EXPECT_EQ(last_copy(path_), "");
}

}  // namespace
}  // namespace runnel::store::sqlite
