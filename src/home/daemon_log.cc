#include "home/daemon_log.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/check.h"
#include "env/files.h"

namespace runnel::home {
namespace {

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
  auto append_all = [file = file_, older = older_, lines = waiting_, torn = may_be_torn_, whole] {
    *whole = append(file, older, lines, torn).ok();
  };
  auto done = [this, whole] {
    writing_.reset();
    may_be_torn_ = !*whole;
    if (lines_waiting_ > 0) write();
    written_.notify_all();
  };
  auto call = async::AbandonableCall::start(loop_, "runnel-lines", std::move(append_all), done);
  if (!call.ok()) return;  // No thread is left: the next line tries again.
  writing_.emplace(*std::move(call));
  waiting_.clear();
  lines_waiting_ = 0;
}

Async<void> DaemonLog::flush(Duration at_most) {
  const Duration until = clock_.boot() + at_most;
  while (writing_ && clock_.boot() < until) {
    CO_TRY(co_await written_.wait_for(until - clock_.boot()));
  }
  co_return {};
}

}  // namespace runnel::home
