#include "store/sqlite/sqlite_reader.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "store/sqlite/detail/database.h"
#include "store/sqlite/detail/history.h"
#include "store/sqlite/detail/open.h"
#include "store/sqlite/detail/tables.h"

namespace runnel::store {
namespace {

using sqlite::Transaction;

class SqliteReader final : public LogReader {
 public:
  explicit SqliteReader(sqlite::OpenDatabase opened)
      : database_(std::move(opened.database)), tables_(std::move(opened.tables)) {}

  Result<Kept> kept() override {
    const Transaction moment = TRY(Transaction::begin(database_, Transaction::Kind::kRead));
    return kept_now();
  }
  Result<std::vector<Batch>> read(BatchSeq after, std::int64_t limit) override {
    const Transaction moment = TRY(Transaction::begin(database_, Transaction::Kind::kRead));
    return sqlite::read_batches(tables_, TRY(kept_now()), after, limit);
  }
  Result<Batch> find(EventSeq event) override {
    const Transaction moment = TRY(Transaction::begin(database_, Transaction::Kind::kRead));
    return sqlite::find_batch(tables_, TRY(kept_now()), event);
  }
  // One statement each.
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
  Result<Kept> kept_now() {
    const sqlite::Meta meta = TRY(tables_.meta());
    Kept kept{meta.base, meta.base};
    const std::optional<Batch> last = TRY(tables_.last_batch());
    if (last) kept.head = {last->seq, last->next_event(), last->hash, last->epoch};
    kept.head.epoch = meta.epoch;
    CHECK(kept.base.last <= kept.head.last, "a log ends before what it keeps begins");
    return kept;
  }

  sqlite::Database database_;
  sqlite::Tables tables_;
};

}  // namespace

Result<std::unique_ptr<LogReader>> open_sqlite_reader(const std::string& path) {
  sqlite::OpenDatabase opened = TRY(sqlite::open_existing(path));
  TRY(opened.database.execute("PRAGMA query_only = ON"));
  return std::unique_ptr<LogReader>(std::make_unique<SqliteReader>(std::move(opened)));
}

}  // namespace runnel::store
