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
#include "cli/text_width.h"

namespace runnel::cli {
namespace {

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

void Progress::draw(const json::Value& job, Duration since_start) {
  if (!terminal_) return;
  clear();
  const json::Value* steps = job.find("steps");
  if (steps == nullptr || !steps->is_list()) return;
  const Screen screen = screen_of(STDERR_FILENO);
  const json::Value::List& all = steps->as_list();
  const std::size_t shown = std::min(all.size(), screen.rows - 2);
  for (std::size_t at = 0; at < shown; ++at) {
    draw_line(progress_line(job, all[at], since_start), screen);
  }
  if (shown < all.size()) {
    draw_line("... and " + std::to_string(all.size() - shown) + " steps more", screen);
  }
}

void Progress::draw_line(const std::string& line, const Screen& screen) {
  CHECK(screen.columns > 1, "a screen without room for a letter");
  // A line that wraps would be two to wipe out.
  say(cut_to(line, screen.columns - 1));
  ++lines_;
}

void Progress::clear() {
  if (lines_ == 0) return;
  std::string erase;
  for (; lines_ > 0; --lines_) erase += "\x1b[1A\x1b[2K";
  std::fputs(erase.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace runnel::cli
