#include "store/sqlite/detail/database.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::store::sqlite {
namespace {

class DatabaseTest : public ::testing::Test {
 protected:
  Database open(Database::Mode mode = Database::Mode::kExisting) {
    return MUST(Database::open(path_, mode));
  }

  env::testing::TemporaryDirectory folder_;
  std::string path_ = folder_.file("t.db");
  Database database_ = open(Database::Mode::kCreate);
};

TEST_F(DatabaseTest, KeepsWhatIsBound) {
  MUST(database_.execute("CREATE TABLE t (a INTEGER, b TEXT)"));
  Statement insert = MUST(database_.prepare("INSERT INTO t VALUES (?, ?)"));
  const std::string text("nul \0 and \xc3\xa9", 12);
  MUST(Query(insert).bind(-7).bind(text).run());
  MUST(Query(insert).bind(8).bind("").run());
  Statement select = MUST(database_.prepare("SELECT a, b FROM t ORDER BY a"));
  Query query(select);
  ASSERT_TRUE(MUST(query.step()));
  EXPECT_EQ(query.integer(0), -7);
  EXPECT_EQ(query.text(1), text);
  EXPECT_EQ(query.size(1), 12);
  ASSERT_TRUE(MUST(query.step()));
  EXPECT_EQ(query.text(1), "");
  EXPECT_FALSE(MUST(query.step()));
}

TEST_F(DatabaseTest, AStatementIsReusable) {
  Statement statement = MUST(database_.prepare("SELECT ? + 1"));
  for (std::int64_t i = 0; i < 5; ++i) {
    Query query(statement);
    query.bind(i);
    ASSERT_TRUE(MUST(query.step()));
    EXPECT_EQ(query.integer(0), i + 1);
  }
}

TEST_F(DatabaseTest, AnEmptyTextIsNotNull) {
  Statement statement = MUST(database_.prepare("SELECT ? IS NULL"));
  Query query(statement);
  query.bind(std::string_view());
  ASSERT_TRUE(MUST(query.step()));
  EXPECT_EQ(query.integer(0), 0);
}

TEST_F(DatabaseTest, ATransactionIsAllOrNothing) {
  MUST(database_.execute("CREATE TABLE t (a INTEGER)"));
  {
    const Transaction transaction = MUST(Transaction::begin(database_));
    MUST(database_.execute("INSERT INTO t VALUES (1)"));
  }
  EXPECT_EQ(MUST(database_.integer("SELECT count(*) FROM t")), 0);
  Transaction transaction = MUST(Transaction::begin(database_));
  MUST(database_.execute("INSERT INTO t VALUES (1)"));
  MUST(transaction.commit());
  EXPECT_EQ(MUST(database_.integer("SELECT count(*) FROM t")), 1);
}

TEST_F(DatabaseTest, ASecondWriterWaitsAndThenSaysSo) {
  MUST(database_.execute("CREATE TABLE t (a INTEGER)"));
  Database other = open();
  MUST(other.execute("PRAGMA busy_timeout = 10"));
  const Transaction transaction = MUST(Transaction::begin(database_));
  const Error error = Transaction::begin(other).error();
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_FALSE(error.hint.empty());
}

TEST_F(DatabaseTest, AFullDatabaseIsFull) {
  MUST(database_.execute("CREATE TABLE t (b TEXT); PRAGMA max_page_count = 4"));
  const Result<void> result = database_.execute("INSERT INTO t VALUES (hex(randomblob(100000)))");
  EXPECT_EQ(result.error().code, Errc::kFull);
  EXPECT_FALSE(result.error().hint.empty());
}

TEST_F(DatabaseTest, WhatIsNoDatabaseIsCorrupt) {
  MUST(env::write_file_atomically(folder_.file("text"), std::string(200, 'x')));
  Database text = MUST(Database::open(folder_.file("text"), Database::Mode::kExisting));
  EXPECT_EQ(text.integer("PRAGMA user_version").error().code, Errc::kCorrupt);
}

TEST_F(DatabaseTest, AMissingTableIsCorrupt) {
  EXPECT_EQ(database_.prepare("SELECT * FROM absent").error().code, Errc::kCorrupt);
}

TEST_F(DatabaseTest, ExistingMeansThatItIsThere) {
  const Result<Database> absent =
      Database::open(folder_.file("absent.db"), Database::Mode::kExisting);
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.error().message.find("absent.db"), std::string::npos);
  EXPECT_FALSE(env::exists(folder_.file("absent.db")));
}

TEST_F(DatabaseTest, ClosingLeavesTheWriteAheadLogWhenToldSo) {
  MUST(database_.text("PRAGMA journal_mode = WAL"));
  MUST(database_.execute("CREATE TABLE t (a INTEGER)"));
  database_.on_close(OnClose::kLeave);
  database_ = MUST(Database::open(folder_.file("other.db"), Database::Mode::kCreate));
  EXPECT_TRUE(env::exists(path_ + "-wal"));
  {
    Database again = open();
    EXPECT_EQ(MUST(again.integer("SELECT count(*) FROM t")), 0);
  }
  EXPECT_FALSE(env::exists(path_ + "-wal"));
}

TEST_F(DatabaseTest, AsksForOneValue) {
  EXPECT_EQ(MUST(database_.integer("SELECT 5")), 5);
  EXPECT_EQ(MUST(database_.text("SELECT 'x'")), "x");
  EXPECT_EQ(MUST(database_.integer("SELECT 5 WHERE 0")), 0);
  EXPECT_EQ(MUST(database_.text("SELECT 'x' WHERE 0")), "");
}

using DatabaseDeathTest = DatabaseTest;

TEST_F(DatabaseDeathTest, MisuseIsOurBug) {
  Statement statement = MUST(database_.prepare("SELECT ?"));
  EXPECT_DEATH((void)Query(statement).step(), "every parameter is bound");
  EXPECT_DEATH(Query(statement).bind(1).bind(2), "takes a number");
  EXPECT_DEATH(
      {
        Query first(statement);
        (void)first.bind(1).step();
        const Query second(statement);
      },
      "one query at a time");
  Statement empty;
  EXPECT_DEATH(const Query query(empty), "prepared");
  EXPECT_DEATH((void)Query(statement).bind(1).run(), "gives no rows");
}

}  // namespace
}  // namespace runnel::store::sqlite
