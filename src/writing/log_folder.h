#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/unique_fd.h"
#include "base/result.h"
#include "base/units.h"
#include "env/file_lock.h"
#include "writing/log_files.h"

namespace runnel::writing {

// The segments of a log in a folder of its own: "000001.log", and "000001.data" once it is retired.
//
// Contract: as LogFiles; one process has a folder at a time.
class LogFolder final : public LogFiles {
 public:
  static constexpr Bytes kSegmentMax = Bytes::mebi(256);  // A longer one is not read.
  static constexpr Bytes kReserve = Bytes::mebi(4);       // A segment of this size may take it.

  // Makes it, for its owner alone, where it is missing, and durable. kConflict when another process
  // has it.
  static Result<std::unique_ptr<LogFolder>> open(const std::string& folder);

  Result<std::vector<std::uint64_t>> numbers() const override;
  Result<std::vector<std::uint64_t>> retired() const override;
  Result<void> hold_room(std::uint64_t size, Room room, Reserve reserve) override;
  Result<void> make(std::uint64_t number, std::string_view header, std::uint64_t size) override;
  Result<std::string> read(std::uint64_t number) const override;
  Result<void> write(std::uint64_t number, std::uint64_t place, std::string_view bytes) override;
  bool writes_at_once() const override;
  Result<void> sync(std::uint64_t number) override;
  Result<std::string> read_part(std::uint64_t number, std::uint64_t place,
                                std::size_t length) const override;
  Result<void> retire(std::uint64_t number) override;
  Result<void> remove(std::uint64_t number) override;

 private:
  LogFolder(std::string folder, env::FileLock lock);

  Result<std::vector<std::uint64_t>> named(std::string_view end) const;
  std::string path_of(std::uint64_t number) const;
  std::string retired_path_of(std::uint64_t number) const;
  std::string spare() const { return folder_ + "/spare"; }
  std::string reserve() const { return folder_ + "/reserve"; }
  void hold_reserve();
  void close_segment();
  Result<int> open_segment(std::uint64_t number);

  // A write that took this long has waited for the disk, as others will for a while.
  static constexpr Duration kSlow = Duration::millis(5);
  static constexpr Duration kSlowFor = Duration::seconds(1);

  const std::string folder_;
  const env::FileLock lock_;
  std::atomic<std::int64_t> slow_until_ = 0;  // Milliseconds since the machine's boot.
  async::UniqueFd open_;
  std::uint64_t open_number_ = 0;
};

}  // namespace runnel::writing
