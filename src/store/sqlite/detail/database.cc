#include "store/sqlite/detail/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "store/sqlite/detail/index_blocks.h"

namespace runnel::store::sqlite {
namespace {

constexpr int kBusyMillis = 2000;  // Another process reads, or a checkpoint runs; both are short.

// A sync that fails for want of space is no refusal: what it was to make durable is written, and
// may be found there by the next who opens.
bool is_failed_sync(int extended) {
  return extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_DIR_FSYNC;
}

bool is_failed_index(int extended) {
  return extended == SQLITE_IOERR_SHMOPEN || extended == SQLITE_IOERR_SHMSIZE ||
         extended == SQLITE_IOERR_SHMLOCK || extended == SQLITE_IOERR_SHMMAP;
}

bool is_disk_full(sqlite3* connection, int code) {
  if (is_failed_sync(sqlite3_extended_errcode(connection))) return false;
  const int system = sqlite3_system_errno(connection);
  return code == SQLITE_FULL || (code == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT));
}

Errc kind_of(sqlite3* connection, int code) {
  if (is_disk_full(connection, code)) return Errc::kFull;
  switch (code) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    // A schema that no longer parses or fits what this code prepared against it.
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT: return Errc::kCorrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Errc::kUnavailable;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH: return Errc::kDenied;
    default: return Errc::kIo;
  }
}

Error last_error(sqlite3* connection, int code) {
  const Errc kind = kind_of(connection, code & 0xFF);
  Error error(kind, std::string("the event log's database: ") + sqlite3_errmsg(connection));
  if (kind == Errc::kFull) error.with_hint("free some space on its disk; work then goes on");
  if (kind == Errc::kCorrupt) error.with_hint(std::string(kDamageHint));
  if (kind == Errc::kUnavailable) error.with_hint("another process uses it; try again");
  return error;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Query::Query(Statement& statement) : statement_(statement.statement_.get()) {
  CHECK(statement_ != nullptr, "a query needs a prepared statement");
  CHECK(sqlite3_stmt_busy(statement_) == 0, "a statement runs one query at a time");
}

Query::~Query() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Query& Query::bind(std::int64_t value) {
  CHECK(sqlite3_bind_int64(statement_, ++bound_, value) == SQLITE_OK, "a parameter takes a number");
  return *this;
}

Query& Query::bind(std::string_view text) {
  // An empty view may have no data, which SQLite would take as NULL.
  const char* data = text.empty() ? "" : text.data();
  const int code =
      sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  CHECK(code == SQLITE_OK, "a parameter takes a text below SQLite's limit");
  return *this;
}

Result<bool> Query::step() {
  CHECK(bound_ == sqlite3_bind_parameter_count(statement_), "every parameter is bound");
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return last_error(sqlite3_db_handle(statement_), code);
}

Result<void> Query::run() {
  CHECK(!TRY(step()), "a statement that changes gives no rows");
  return {};
}

std::int64_t Query::integer(int column) const {
  CHECK(column < sqlite3_data_count(statement_), "a row has the column that is asked for");
  return sqlite3_column_int64(statement_, column);
}

std::string Query::text(int column) const {
  CHECK(column < sqlite3_data_count(statement_), "a row has the column that is asked for");
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

std::int64_t Query::size(int column) const { return sqlite3_column_bytes(statement_, column); }

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Result<Database> Database::open(const std::string& path, Mode mode) {
  const int create = mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | create;
  sqlite3* connection = nullptr;
  keep_index_blocks();
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  CHECK(connection != nullptr, "there is memory for a database connection");
  Database database(connection);
  if (code != SQLITE_OK) {
    Error error = last_error(connection, code);
    error.message += " (" + path + ")";
    return error;
  }
  sqlite3_busy_timeout(connection, kBusyMillis);
  return database;
}

void Database::on_close(OnClose what) {
  const int leave = what == OnClose::kLeave ? 1 : 0;
  const int code =
      sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave, nullptr);
  CHECK(code == SQLITE_OK, "SQLite 3.40 has this setting");
}

Result<void> Database::execute(const char* sql) {
  const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return last_error(connection_.get(), code);
  return {};
}

// The index of the write-ahead log grows after the commit is written and synced.
Result<void> Database::commit() {
  Result<void> committed = execute("COMMIT");
  if (committed.ok() || !is_failed_index(sqlite3_extended_errcode(connection_.get()))) {
    return committed;
  }
  Error error = std::move(committed).error();
  error.code = Errc::kIo;
  return error;
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  if (code != SQLITE_OK) return last_error(connection_.get(), code);
  return Statement(statement);
}

Result<std::int64_t> Database::integer(const char* sql) {
  Statement statement = TRY(prepare(sql));
  Query query(statement);
  return TRY(query.step()) ? query.integer(0) : 0;
}

Result<std::string> Database::text(const char* sql) {
  Statement statement = TRY(prepare(sql));
  Query query(statement);
  return TRY(query.step()) ? query.text(0) : std::string();
}

Result<Transaction> Transaction::begin(Database& database, Kind kind) {
  CHECK(!database.in_transaction(), "transactions do not nest");
  TRY(database.execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  // Some errors have rolled back already; then this one says so, and that is all.
  if (database_ != nullptr) (void)database_->execute("ROLLBACK");
}

Result<void> Transaction::commit() {
  CHECK(database_ != nullptr, "a transaction ends once");
  TRY(database_->commit());
  database_ = nullptr;
  return {};
}

}  // namespace runnel::store::sqlite
