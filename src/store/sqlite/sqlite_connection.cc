#include "store/sqlite/sqlite_connection.h"

#include <optional>
#include <utility>

#include "store/sqlite/detail/database.h"
#include "store/sqlite/detail/history.h"
#include "store/sqlite/detail/open.h"
#include "store/sqlite/detail/tables.h"

namespace runnel::store {
namespace {

using sqlite::Transaction;

// The log within one transaction.
class SqliteMoment final : public LogReader {
 public:
  explicit SqliteMoment(sqlite::Tables& tables) : tables_(tables) {}

  Result<Kept> kept() override {
    if (!kept_) kept_ = TRY(look());
    return *kept_;
  }
  Result<std::vector<Batch>> read(BatchSeq after, std::int64_t limit) override {
    return sqlite::read_batches(tables_, TRY(kept()), after, limit);
  }
  Result<Batch> find(EventSeq event) override {
    return sqlite::find_batch(tables_, TRY(kept()), event);
  }
  Result<ArchiveEntry> archived(std::string_view key) override {
    return sqlite::archived(tables_, key);
  }
  Result<ArchivePage> list_archive(const ArchiveQuery& query) override {
    return sqlite::list_archive(tables_, query);
  }
  Result<std::vector<std::string>> archive_keys(std::string_view prefix,
                                                std::int64_t limit) override {
    return sqlite::archive_keys(tables_, prefix, limit);
  }

 private:
  Result<Kept> look() {
    const sqlite::Meta meta = TRY(tables_.meta());
    Kept kept{meta.base, meta.base};
    const std::optional<Batch> last = TRY(tables_.last_batch());
    if (last) kept.head = {last->seq, last->next_event(), last->hash, last->epoch};
    kept.head.epoch = meta.epoch;
    if (kept.base.last <= kept.head.last) return kept;
    return Error(Errc::kCorrupt, "the event log ends with " + sqlite::name_of(kept.head.last) +
                                     ", before what it keeps begins");
  }

  sqlite::Tables& tables_;
  std::optional<Kept> kept_;
};

class SqliteConnection final : public LogConnection {
 public:
  explicit SqliteConnection(sqlite::OpenDatabase opened)
      : database_(std::move(opened.database)), tables_(std::move(opened.tables)) {}

 private:
  Result<void> at_one_moment(const std::function<void(LogReader&)>& look) override {
    const Transaction transaction = TRY(Transaction::begin(database_, Transaction::Kind::kRead));
    SqliteMoment moment(tables_);
    look(moment);
    return {};
  }

  sqlite::Database database_;
  sqlite::Tables tables_;
};

}  // namespace

Result<std::unique_ptr<LogConnection>> connect_sqlite(const std::string& path) {
  sqlite::OpenDatabase opened = TRY(sqlite::open_existing(path));
  TRY(opened.database.execute("PRAGMA query_only = ON"));
  return std::unique_ptr<LogConnection>(std::make_unique<SqliteConnection>(std::move(opened)));
}

}  // namespace runnel::store
