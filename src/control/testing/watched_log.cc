#include "control/testing/watched_log.h"

#include "base/check.h"

namespace runnel::control::testing {
namespace {

class WatchedConnection final : public store::LogConnection {
 public:
  WatchedConnection(LogWatch& watch, std::unique_ptr<store::LogConnection> log)
      : watch_(watch), log_(std::move(log)) {
    ++watch_.connections;
  }
  ~WatchedConnection() override { --watch_.connections; }
  WatchedConnection(const WatchedConnection&) = delete;
  WatchedConnection& operator=(const WatchedConnection&) = delete;

 private:
  Result<void> at_one_moment(const std::function<void(store::LogReader&)>& look) override {
    return log_->read([&look](store::LogReader& log) -> Result<void> {
      look(log);
      return {};
    });
  }

  LogWatch& watch_;
  std::unique_ptr<store::LogConnection> log_;
};

class WatchedLog final : public store::EventLog {
 public:
  WatchedLog(LogWatch& watch, std::unique_ptr<store::EventLog> log)
      : watch_(watch), log_(std::move(log)) {}

  const store::OpenReport& open_report() const override { return log_->open_report(); }
  store::Head head() const override { return log_->head(); }
  store::Head base() const override { return log_->base(); }
  Result<Epoch> acquire_lease() override {
    const std::lock_guard<std::mutex> wait(watch_.held);
    return log_->acquire_lease();
  }

  Result<void> append(Epoch epoch, std::vector<store::Batch> batches,
                      const store::ArchiveChange& archive, store::Room room) override {
    ++watch_.waiting;
    const std::lock_guard<std::mutex> wait(watch_.held);
    --watch_.waiting;
    const bool full = watch_.full;
    if (full && !take_room(room)) {
      ++watch_.refused;
      return Error(Errc::kFull, "the disk is full");
    }
    if (watch_.broken) return Error(Errc::kIo, "the disk is gone");
    TRY(log_->append(epoch, std::move(batches), archive));
    ++watch_.appends;
    return {};
  }
  bool is_short_of_room() override { return watch_.full; }

  Result<std::unique_ptr<store::LogConnection>> connect() override {
    return std::unique_ptr<store::LogConnection>(
        std::make_unique<WatchedConnection>(watch_, TRY(log_->connect())));
  }
  Result<std::vector<store::Batch>> read(BatchSeq after, std::int64_t limit) override {
    return log_->read(after, limit);
  }
  Result<store::Batch> find(EventSeq event) override { return log_->find(event); }
  Result<void> save_snapshot(Epoch epoch, const store::Snapshot& snapshot) override {
    const std::lock_guard<std::mutex> wait(watch_.held);
    ++watch_.snapshots;
    return log_->save_snapshot(epoch, snapshot);
  }
  Result<std::optional<store::Snapshot>> load_snapshot() override { return log_->load_snapshot(); }
  Result<store::ArchiveEntry> archived(std::string_view key) override {
    return log_->archived(key);
  }
  Result<store::ArchivePage> list_archive(const store::ArchiveQuery& query) override {
    return log_->list_archive(query);
  }
  Result<std::vector<std::string>> archive_keys(std::string_view prefix,
                                                std::int64_t limit) override {
    return log_->archive_keys(prefix, limit);
  }
  Result<void> prune(Epoch epoch, BatchSeq through) override { return log_->prune(epoch, through); }

 private:
  // For an append while the disk is full.
  bool take_room(store::Room room) {
    if (room == store::Room::kOrdinary) return false;
    if (watch_.held_room > 0) {
      --watch_.held_room;
      return true;
    }
    return room == store::Room::kReserve && watch_.reserve.exchange(false);
  }

  LogWatch& watch_;
  std::unique_ptr<store::EventLog> log_;
};

}  // namespace

std::shared_ptr<store::MemoryStorage> left_by_kill(LogWatch& watch) {
  const std::lock_guard<std::mutex> wait(watch.held);
  return std::make_shared<store::MemoryStorage>(*watch.storage);
}

LogOpener watched_opener(LogWatch& watch) {
  return [&watch]() -> Result<std::unique_ptr<store::EventLog>> {
    if (watch.broken || watch.away) return Error(Errc::kIo, "the disk is gone");
    const std::lock_guard<std::mutex> wait(watch.held);
    CHECK(watch.connections == 0, "a log is opened anew while somebody reads it");
    ++watch.openings;
    return std::unique_ptr<store::EventLog>(
        std::make_unique<WatchedLog>(watch, TRY(store::open_memory_log(watch.storage))));
  };
}

}  // namespace runnel::control::testing
