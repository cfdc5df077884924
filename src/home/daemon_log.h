#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "async/abandonable_call.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "base/units.h"
#include "env/clock.h"
#include "home/home.h"
#include "json/value.h"

namespace runnel::home {

enum class LogLevel : std::uint8_t { kInfo, kWarning, kError };
std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view text);

// How a daemon fares, for whoever looks after the home: docs/design/log_lines.md.
//
// Contract: a line is one JSON object; add() never blocks and never fails. Lines reach the file in
//           their order, unsynced; what a full disk does not take waits for the next line. A file
//           of kFileMax becomes the older one.
// Threads:  the loop's; the file is written on a thread of its own, "runnel-lines".
// Lifetime: destroyed at any time; a write that hangs is left alone, and what waits is lost.
// Limits:   kWaitingMax lines wait for the disk; further ones are counted, and the next line tells
//           how many were lost.
class DaemonLog {
 public:
  static constexpr std::size_t kWaitingMax = 4'096;
  static constexpr Bytes kFileMax = Bytes::mebi(4);

  DaemonLog(async::EventLoop& loop, env::Clock& clock, const Home& home);

  // `part`: who tells it. `fields` have no member that a line has anyway: time, level, part,
  // message.
  void add(LogLevel level, std::string_view part, std::string message,
           json::Value::Object fields = {});
  // Returns when all lines are in the file, or after `at_most`.
  Async<void> flush(Duration at_most);

 private:
  std::string text_of(LogLevel level, std::string_view part, std::string message,
                      json::Value::Object fields) const;
  void write();
  void keep(const std::string& lines, std::size_t count);

  async::EventLoop& loop_;
  env::Clock& clock_;
  const std::string file_;
  const std::string older_;
  std::string waiting_;
  std::size_t lines_waiting_ = 0;
  std::int64_t lost_ = 0;
  bool may_be_torn_ = true;  // The end of the file: of an earlier daemon, or of a failed write.
  std::optional<async::AbandonableCall> writing_;
  async::Notifier written_;
};

}  // namespace runnel::home
