#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace runnel::store::sqlite {

// What to do about a damaged log that is found out about while it is used.
inline constexpr std::string_view kDamageHint =
    "`runnel fsck` tells all that is wrong, and `runnel fsck --repair` goes on with what is sound";

// A prepared statement, reused for each execution.
//
// Lifetime: ends before its Database. A Query borrows it; one at a time.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

 private:
  friend class Query;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// One execution of a statement: bind in order, then step() row by row. Ends with its scope.
//
// Contract: bound text is borrowed until then; texts of a row are valid until the next step.
class Query {
 public:
  explicit Query(Statement& statement);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& bind(std::int64_t value);
  Query& bind(std::string_view text);

  // Whether there is a (next) row.
  Result<bool> step();
  // For what gives no rows.
  Result<void> run();

  std::int64_t integer(int column) const;
  std::string text(int column) const;
  // How many bytes text(column) would have.
  std::int64_t size(int column) const;

 private:
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

// What becomes of the write-ahead log when the last connection closes: moved into the database and
// removed, or left as it is, so that looking at a damaged database changes nothing.
enum class OnClose : std::uint8_t { kCheckpoint, kLeave };

// A connection to a database file.
//
// Contract: errors say what was tried and carry the kind: kFull for a full disk, kCorrupt for a
//           malformed file, kUnavailable when another process holds it, else kIo.
// Threads:  one.
class Database {
 public:
  enum class Mode : std::uint8_t { kExisting, kCreate };

  static Result<Database> open(const std::string& path, Mode mode);

  void on_close(OnClose what);
  bool in_transaction() const;
  Result<void> execute(const char* sql);
  Result<void> commit();
  Result<Statement> prepare(const char* sql);
  // The first column of the first row: for pragmas.
  Result<std::int64_t> integer(const char* sql);
  Result<std::string> text(const char* sql);

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  explicit Database(sqlite3* connection) : connection_(connection) {}

  std::unique_ptr<sqlite3, Close> connection_;
};

// A transaction until commit(); rolled back when it ends without. One that writes has the database
// to itself at once; one that reads sees it as it was at its first read.
class Transaction {
 public:
  enum class Kind : std::uint8_t { kWrite, kRead };
  static Result<Transaction> begin(Database& database, Kind kind = Kind::kWrite);
  Transaction(Transaction&& other) noexcept;
  ~Transaction();

  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace runnel::store::sqlite
