#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/log_writer.h"
#include "store/event_log.h"
#include "store/memory/memory_log.h"

namespace runnel::control::testing {

// What a test sees of, and does to, the logs that an opener opens.
//
// Threads: any: the log works on its worker while the test looks on.
struct LogWatch {
  std::atomic<int> appends{0};  // That succeeded.
  std::atomic<int> waiting{0};  // Appends that wait for `held`.
  std::atomic<int> refused{0};  // Because the log was full.
  std::atomic<int> openings{0};
  std::atomic<int> snapshots{0};
  std::atomic<int> connections{0};  // That are open now.
  std::atomic<bool> full{false};    // Every append is refused with kFull,
  std::atomic<int> held_room{0};    //   but for so many that may use what is held,
  std::atomic<bool> reserve{true};  //   and one that may use the reserve.
  std::atomic<bool> broken{false};  // Every append fails with kIo, and so does opening.
  std::atomic<bool> away{false};    // Opening fails with kIo.
  // Blocks all that changes the log while it is held: what is decided meanwhile gathers.
  std::mutex held;
  std::shared_ptr<store::MemoryStorage> storage = std::make_shared<store::MemoryStorage>();
};

// An opener of memory logs that share `watch`, which outlives them.
LogOpener watched_opener(LogWatch& watch);

// The log as a kill would leave it now.
std::shared_ptr<store::MemoryStorage> left_by_kill(LogWatch& watch);

}  // namespace runnel::control::testing
