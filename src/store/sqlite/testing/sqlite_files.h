#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/manual_clock.h"
#include "env/testing/temporary_directory.h"
#include "store/sqlite/detail/database.h"
#include "store/sqlite/sqlite_log.h"
#include "store/testing/batches.h"

namespace runnel::store {

// A log in a folder of its own, with ways to leave it as a crash or a bad disk would.
class SqliteFiles : public ::testing::Test {
 protected:
  Result<std::unique_ptr<EventLog>> try_open() { return open_sqlite_log(path_, clock_); }
  void open() { log_ = MUST(try_open()); }
  void close() { log_.reset(); }

  void append(std::int64_t count) {
    if (epoch_ == Epoch() || epoch_ != log_->head().epoch) epoch_ = MUST(log_->acquire_lease());
    MUST(log_->append(epoch_, testing::next_batches(*log_, epoch_, count)));
  }

  // A closed log of `batches` batches, each of its own transaction, with an archive entry each.
  void make_log(std::int64_t batches) {
    open();
    epoch_ = MUST(log_->acquire_lease());
    for (std::int64_t i = 1; i <= batches; ++i) {
      const std::string number = std::to_string(1000 + i);
      const ArchiveEntry entry{"job-" + number, number, "record of " + number};
      MUST(log_->append(epoch_, testing::next_batches(*log_, epoch_, 1), {{entry}, {}}));
    }
    original_ = MUST(log_->read(BatchSeq(), kReadBatchesMax));
  }

  // The files as they are now, while the log is open: what a kill would leave.
  void crash() {
    const std::string db = MUST(env::read_file(path_));
    const std::string wal = MUST(env::read_file(path_ + "-wal"));
    close();
    MUST(env::remove_file(path_ + "-shm"));
    MUST(env::write_file_atomically(path_, db));
    MUST(env::write_file_atomically(path_ + "-wal", wal));
  }

  // Changes the closed log behind its back.
  void tamper(const std::string& sql) {
    sqlite::Database database =
        MUST(sqlite::Database::open(path_, sqlite::Database::Mode::kExisting));
    MUST(database.execute(sql.c_str()));
  }

  std::vector<std::string> copies() const {
    std::vector<std::string> found;
    for (const std::string& name : MUST(env::list_directory(folder_.path()))) {
      if (name.starts_with("damaged-")) found.push_back(folder_.file(name));
    }
    return found;
  }

  // Whether the log holds the first `n` of the original batches and nothing else, for some n.
  static bool is_prefix(const std::vector<Batch>& batches, const std::vector<Batch>& of) {
    return batches.size() <= of.size() && std::equal(batches.begin(), batches.end(), of.begin());
  }

  env::testing::TemporaryDirectory folder_;
  env::testing::ManualClock clock_{Time::from_millis(1'900'000'000'000)};
  std::string path_ = folder_.file("log.db");
  std::unique_ptr<EventLog> log_;
  std::vector<Batch> original_;
  Epoch epoch_;
};

}  // namespace runnel::store
