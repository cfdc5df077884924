#include "home/daemon_log.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "env/held_blocks.h"

namespace runnel::home {
namespace {

constexpr Bytes kAhead = Bytes::kibi(64);
constexpr Bytes kAheadLeast = Bytes::kibi(32);

constexpr std::array<std::string_view, 3> kLevels = {"info", "warning", "error"};

// After a full disk or a kill the file may end within a line: `may_be_torn` ends it first. Readers
// pass over empty lines.
Result<void> append(const std::string& file, const std::string& older, const std::string& lines,
                    bool may_be_torn) {
  const Result<env::FileInfo> info = env::file_info(file);
  if (!info.ok() || info->size == Bytes()) return env::append_file(file, lines);
  if (info->size < DaemonLog::kFileMax) {
    return env::append_file(file, may_be_torn ? "\n" + lines : lines);
  }
  TRY(env::rename_file(file, older));
  return env::append_file(file, lines);
}

// A full disk is told of in its own log. Where the file system holds no blocks, once it has room.
void hold_ahead(const std::string& file) {
  const Result<env::FileInfo> info = env::file_info(file);
  const Result<Bytes> held = env::allocated(file);
  if (!info.ok() || !held.ok() || *held >= info->size + kAheadLeast) return;
  (void)env::hold_blocks_ahead(file, kAhead);
}

}  // namespace

std::string_view to_string(LogLevel level) { return kLevels.at(static_cast<std::size_t>(level)); }

std::optional<LogLevel> parse_log_level(std::string_view text) {
  const auto* const found = std::find(kLevels.begin(), kLevels.end(), text);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevels.begin());
}

DaemonLog::DaemonLog(async::EventLoop& loop, env::Clock& clock, const Home& home)
    : loop_(loop),
      clock_(clock),
      file_(home.log_lines()),
      older_(home.older_log_lines()),
      written_(loop) {}

std::string DaemonLog::text_of(LogLevel level, std::string_view part, std::string message,
                               json::Value::Object fields) const {
  json::Value line = json::Value::object(std::move(fields));
  line.set("time", json::Value::text(rfc3339(clock_.wall())));
  line.set("level", json::Value::text(std::string(to_string(level))));
  line.set("part", json::Value::text(std::string(part)));
  line.set("message", json::Value::text(std::move(message)));
  if (lost_ > 0) line.set("lost", json::Value::integer(lost_));
  return line.dump() + "\n";
}

void DaemonLog::add(LogLevel level, std::string_view part, std::string message,
                    json::Value::Object fields) {
  if (lines_waiting_ >= kWaitingMax) {
    ++lost_;
    return;
  }
  waiting_ += text_of(level, part, std::move(message), std::move(fields));
  lost_ = 0;
  ++lines_waiting_;
  if (!writing_) write();
}

void DaemonLog::write() {
  CHECK(!writing_, "two writes of log lines at once");
  const auto whole = std::make_shared<bool>(false);
  const auto lines = std::make_shared<const std::string>(std::exchange(waiting_, {}));
  const std::size_t count = std::exchange(lines_waiting_, 0);
  auto append_all = [file = file_, older = older_, lines, torn = may_be_torn_, whole] {
    *whole = append(file, older, *lines, torn).ok();
    hold_ahead(file);
  };
  auto done = [this, lines, count, whole] {
    writing_.reset();
    may_be_torn_ = !*whole;
    if (!*whole) keep(*lines, count);
    if (*whole && lines_waiting_ > 0) write();
    written_.notify_all();
  };
  auto call = async::AbandonableCall::start(loop_, "runnel-lines", std::move(append_all), done);
  if (call.ok()) {
    writing_.emplace(*std::move(call));
  } else {
    keep(*lines, count);  // No thread is left.
  }
}

// The next line tries again.
void DaemonLog::keep(const std::string& lines, std::size_t count) {
  waiting_.insert(0, lines);
  lines_waiting_ += count;
}

Async<void> DaemonLog::flush(Duration at_most) {
  const Duration until = clock_.boot() + at_most;
  while (writing_ && clock_.boot() < until) {
    CO_TRY(co_await written_.wait_for(until - clock_.boot()));
  }
  co_return {};
}

}  // namespace runnel::home
