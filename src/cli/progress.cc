#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "cli/best_text.h"
#include "cli/members_text.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/screen.h"
#include "cli/text_width.h"

namespace runnel::cli {
namespace {

// A line that output writes over, the sign that there are more steps, and where the cursor rests.
constexpr std::size_t kRowsForOthers = 3;

std::int64_t count(const json::Value& step, std::string_view status) {
  const json::Value* counts = step.find("counts");
  return counts == nullptr ? 0 : number_of(*counts, status);
}

std::string rate_text(std::int64_t done, Duration running) {
  if (done == 0 || running.millis() < 500 || done * 10'000 < running.millis()) return "";
  char text[64];
  std::snprintf(text, sizeof text, "  %.1f/s",
                static_cast<double>(done) * 1000.0 / static_cast<double>(running.millis()));
  return text;
}

const json::Value* progress_of(const json::Value& job, const std::string& step) {
  const json::Value* progress = job.find("progress");
  if (progress == nullptr) return nullptr;
  for (const json::Value& each : list_at(*progress, "steps")) {
    if (text_of(each, "name") == step) return &each;
  }
  return nullptr;
}

// "  step 7 loss=0.25": of the step's only task that reports.
std::string only_report(const json::Value& job, const std::string& step) {
  const json::Value* progress = progress_of(job, step);
  if (progress == nullptr || list_at(*progress, "live").size() != 1) return "";
  const json::Value& live = list_at(*progress, "live").front();
  return "  step " + std::to_string(number_of(live, "step")) + " " +
         members_text(live.find("metrics"));
}

}  // namespace

std::string share_text(const json::Value& job, const std::string& step) {
  const json::Value* progress = progress_of(job, step);
  const json::Value* share = progress == nullptr ? nullptr : progress->find("share");
  if (share == nullptr) return "";
  const std::string text = share->dump();
  double part = 0;
  std::from_chars(text.data(), text.data() + text.size(), part);
  const auto percent = static_cast<int>(std::lround(100 * part));
  return std::to_string(part < 1 ? std::min(percent, 99) : 100) + " %";
}

std::string left_text(const json::Value& job, const std::string& step) {
  const json::Value* progress = progress_of(job, step);
  const std::int64_t seconds = progress == nullptr ? 0 : number_of(*progress, "eta_seconds");
  return seconds == 0 ? "" : human(Duration::seconds(seconds));
}

std::vector<std::string> live_lines(const json::Value& job, const std::string& step) {
  std::vector<std::string> lines;
  const json::Value* progress = progress_of(job, step);
  if (progress == nullptr) return lines;
  for (const json::Value& live : list_at(*progress, "live")) {
    lines.push_back(step + "/" + std::to_string(number_of(live, "task")) + "  step " +
                    std::to_string(number_of(live, "step")) + "  " +
                    members_text(live.find("metrics")));
  }
  return lines;
}

std::string progress_line(const json::Value& job, const json::Value& step, Duration running) {
  const std::int64_t tasks = number_of(step, "tasks", 1);
  const std::int64_t done = count(step, "SUCCEEDED") + count(step, "PRUNED");
  const std::int64_t failed =
      count(step, "FAILED") + count(step, "TIMEOUT") + count(step, "OUT_OF_MEMORY");
  std::string name = text_of(step, "name");
  name.resize(std::max<std::size_t>(name.size(), 16), ' ');
  std::string line = name + " " + std::to_string(done) + "/" + std::to_string(tasks);
  const std::int64_t live = count(step, "RUNNING") + count(step, "STARTING");
  if (live > 0) line += "  " + std::to_string(live) + " running";
  if (failed > 0) line += "  " + std::to_string(failed) + " failed";
  const std::string status = text_of(step, "status");
  if (status != "RUNNING") return line + "  " + status;
  const std::string share = share_text(job, text_of(step, "name"));
  const std::string left = left_text(job, text_of(step, "name"));
  if (!share.empty()) line += "  " + share;
  if (!left.empty()) line += "  ETA " + left;
  // Then what may be cut where the terminal is narrow.
  const std::string best = short_best(step);
  line += best.empty() ? only_report(job, text_of(step, "name")) : "  " + best;
  return line + rate_text(done, running);
}

std::string fitted_progress_line(std::string line, std::size_t columns) {
  const std::size_t width = text_width(line);
  const std::size_t name_end = line.find(' ');
  const std::size_t next = line.find_first_not_of(' ', name_end);
  if (width > columns && next != std::string::npos && name_end != std::string::npos) {
    line.erase(name_end, std::min(width - columns, next - name_end - 1));
  }
  return cut_to(line, columns);
}

Progress::Progress(bool terminal) : terminal_(terminal), yields_(is_pipe(STDOUT_FILENO)) {}

void Progress::draw(const json::Value& job, Duration since_start) {
  if (terminal_) put_error(redrawn(job, since_start));
}

void Progress::print(const OutputBatch& batch) {
  if (batch.empty()) return;
  if (!terminal_) return put_batch(batch);
  if (yields_) {
    clear();
    return put_batch(batch);
  }
  if (is_one_terminal(STDOUT_FILENO, STDERR_FILENO)) {
    std::string all;
    for (const OutputRun& run : batch) all += run.text;
    return put(above(all));
  }
  for (const OutputRun& run : batch) {
    run.to == OutputRun::To::kError ? put_error(above(run.text)) : put(run.text);
  }
}

void Progress::say(std::string_view text) { put_error(terminal_ ? aside(said(text)) : said(text)); }

void Progress::clear() {
  lines_.clear();
  if (terminal_) put_error(aside(""));
}

std::string Progress::redrawn(const json::Value& job, Duration since_start) {
  std::string text = wiped();
  lines_.clear();
  for (const json::Value& step : list_at(job, "steps")) {
    lines_.push_back(printable_lines(progress_line(job, step, since_start)));
  }
  return text += block();
}

std::string Progress::above(std::string_view text) {
  std::string all = wiped();
  all += text;
  follow(text);
  return all += block();
}

std::string Progress::aside(std::string_view text) {
  std::string all = wiped();
  if (cursor_ != Cursor::kFreshLine) all += "\n";
  cursor_ = Cursor::kFreshLine;
  all += text;
  return all += block();
}

// Without the lines, and with the cursor where output has left it.
std::string Progress::wiped() {
  std::string text;
  for (std::size_t line = 0; line < drawn_; ++line) text += "\x1b[1A\x1b[2K";
  if (drawn_ > 0 && cursor_ == Cursor::kPassingLine) text += "\x1b[1A";
  drawn_ = 0;
  return text;
}

// Nothing while output is within a line: it would be torn.
std::string Progress::block() {
  if (lines_.empty() || cursor_ == Cursor::kWithinLine) return "";
  const Screen screen = screen_of(STDERR_FILENO);
  CHECK(screen.columns > 1, "a screen without room for a letter");
  CHECK(screen.rows > kRowsForOthers, "a screen without room for a line");
  const std::size_t shown = std::min(lines_.size(), screen.rows - kRowsForOthers);
  // A line that wraps would be two to wipe out.
  const auto fitting = [&screen](const std::string& line) {
    return fitted_progress_line(line, screen.columns - 1) + "\n";
  };
  std::string text = cursor_ == Cursor::kPassingLine ? "\n" : "";
  for (std::size_t at = 0; at < shown; ++at) text += fitting(lines_[at]);
  drawn_ = shown;
  if (shown == lines_.size()) return text;
  ++drawn_;
  return text + fitting("... and " + std::to_string(lines_.size() - shown) + " steps more");
}

void Progress::follow(std::string_view text) {
  if (text.empty()) return;
  cursor_ = Cursor::kWithinLine;
  if (text.back() == '\n') cursor_ = Cursor::kFreshLine;
  if (text.back() == '\r') cursor_ = Cursor::kPassingLine;
}

}  // namespace runnel::cli
