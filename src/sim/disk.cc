#include "sim/disk.h"

#include <utility>
#include <variant>

#include "base/check.h"

namespace runnel::sim {
namespace {

// An error of a kind after which nobody waits for the disk to come back.
Error unplugged() { return Error(Errc::kPrecondition, "the process that asks was killed"); }

Result<void> connected(const Disk::Cable& cable) {
  if (cable.is_cut) return unplugged();
  return {};
}

class FaultyConnection final : public store::LogConnection {
 public:
  FaultyConnection(std::shared_ptr<const Disk::Cable> cable,
                   std::unique_ptr<store::LogConnection> log)
      : cable_(std::move(cable)), log_(std::move(log)) {}

 private:
  Result<void> at_one_moment(const std::function<void(store::LogReader&)>& look) override {
    TRY(connected(*cable_));
    return log_->read([&look](store::LogReader& log) -> Result<void> {
      look(log);
      return {};
    });
  }

  std::shared_ptr<const Disk::Cable> cable_;
  std::unique_ptr<store::LogConnection> log_;
};

}  // namespace

// The store's log for one life of the daemon.
class Disk::FaultyLog final : public store::EventLog {
 public:
  FaultyLog(Disk& disk, std::shared_ptr<const Cable> cable, std::unique_ptr<store::EventLog> log)
      : disk_(disk), cable_(std::move(cable)), log_(std::move(log)) {}

  const store::OpenReport& open_report() const override { return log_->open_report(); }
  store::Head head() const override { return log_->head(); }
  store::Head base() const override { return log_->base(); }
  Result<Epoch> acquire_lease() override {
    TRY(connected(*cable_));
    return log_->acquire_lease();
  }
  Result<void> append(Epoch epoch, std::vector<store::Batch> batches,
                      const store::ArchiveChange& archive, store::Room room) override {
    TRY(connected(*cable_));
    return disk_.append(*log_, epoch, std::move(batches), archive, room);
  }
  bool is_short_of_room() override { return disk_.is_short_of_room(); }
  Result<std::unique_ptr<store::LogConnection>> connect() override {
    TRY(connected(*cable_));
    return std::unique_ptr<store::LogConnection>(
        std::make_unique<FaultyConnection>(cable_, TRY(log_->connect())));
  }
  Result<std::vector<store::Batch>> read(BatchSeq after, std::int64_t limit) override {
    TRY(connected(*cable_));
    return log_->read(after, limit);
  }
  Result<store::Batch> find(EventSeq event) override {
    TRY(connected(*cable_));
    return log_->find(event);
  }
  Result<void> save_snapshot(Epoch epoch, const store::Snapshot& snapshot) override {
    TRY(connected(*cable_));
    if (disk_.full_) return Error(Errc::kFull, "no space left on the disk");
    return log_->save_snapshot(epoch, snapshot);
  }
  Result<std::optional<store::Snapshot>> load_snapshot() override {
    TRY(connected(*cable_));
    return log_->load_snapshot();
  }
  Result<store::ArchiveEntry> archived(std::string_view key) override {
    TRY(connected(*cable_));
    return log_->archived(key);
  }
  Result<store::ArchivePage> list_archive(const store::ArchiveQuery& query) override {
    TRY(connected(*cable_));
    return log_->list_archive(query);
  }
  Result<std::vector<std::string>> archive_keys(std::string_view prefix,
                                                std::int64_t limit) override {
    TRY(connected(*cable_));
    return log_->archive_keys(prefix, limit);
  }
  Result<void> prune(Epoch epoch, BatchSeq through) override {
    TRY(connected(*cable_));
    return log_->prune(epoch, through);
  }

 private:
  Disk& disk_;
  std::shared_ptr<const Cable> cable_;
  std::unique_ptr<store::EventLog> log_;
};

control::LogOpener Disk::opener(std::shared_ptr<const Cable> cable) {
  return [this, cable = std::move(cable)]() -> Result<std::unique_ptr<store::EventLog>> {
    if (cable->is_cut) return unplugged();
    if (away_) return Error(Errc::kIo, "the disk does not answer");
    decided_.clear();
    std::unique_ptr<store::EventLog> log = TRY(store::open_memory_log(storage_));
    return std::unique_ptr<store::EventLog>(
        std::make_unique<FaultyLog>(*this, cable, std::move(log)));
  };
}

void Disk::note(const control::DurableBatch& batch) {
  const auto at = static_cast<std::size_t>(batch.seq.value()) - 1;
  CHECK(at >= batches_.size(), "a batch is decided that the log holds already");
  // What was decided from here on was rolled back.
  decided_.resize(at - batches_.size());
  decided_.push_back({batch.now, batch.events});
}

Result<void> Disk::append(store::EventLog& log, Epoch epoch, std::vector<store::Batch> batches,
                          const store::ArchiveChange& archive, store::Room room) {
  const BatchSeq last = batches.empty() ? log.head().last : batches.back().seq;
  const bool kept = storage_->next_append == store::AppendFault::kKept;
  Result<void> appended = Error(Errc::kFull, "no space left on the disk");
  const bool has_room = take_room(room);
  if (has_room) appended = log.append(epoch, std::move(batches), archive);
  if (appended.ok() || (kept && has_room)) keep(last);
  if (!appended.ok()) failed_();
  return appended;
}

// Inputs refused for want of room wait, as after an append that failed.
bool Disk::is_short_of_room() const {
  if (full_) failed_();
  return full_;
}

bool Disk::take_room(store::Room room) {
  if (!full_) return true;
  if (room == store::Room::kOrdinary) return false;
  if (held_ > 0) {
    --held_;
    return true;
  }
  return room == store::Room::kReserve && std::exchange(holds_reserve_, false);
}

void Disk::keep(BatchSeq through) {
  const std::size_t count = static_cast<std::size_t>(through.value()) - batches_.size();
  CHECK(count <= decided_.size(), "a batch is in the log that nobody decided");
  const auto end = decided_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto batch = decided_.begin(); batch != end; ++batch) {
    for (model::Event& event : batch->events) {
      const auto* submitted = std::get_if<model::JobSubmitted>(&event);
      if (submitted != nullptr) jobs_.push_back(submitted->job);
      events_.push_back(std::move(event));
    }
    batches_.push_back({batch->now, events_.size()});
  }
  decided_.erase(decided_.begin(), end);
}

std::string Disk::hash() const {
  return storage_->batches.empty() ? "" : storage_->batches.rbegin()->second.hash;
}

}  // namespace runnel::sim
