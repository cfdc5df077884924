#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "cli/print.h"

namespace runnel::cli {
namespace {

std::int64_t count(const json::Value& step, std::string_view status) {
  const json::Value* counts = step.find("counts");
  return counts == nullptr ? 0 : number_of(*counts, status);
}

std::string rate_and_eta(std::int64_t done, std::int64_t tasks, Duration running) {
  if (done == 0 || running.millis() < 500) return "";
  const double per_second =
      static_cast<double>(done) * 1000.0 / static_cast<double>(running.millis());
  char text[64];
  std::snprintf(text, sizeof text, "  %.1f/s", per_second);
  if (done >= tasks) return text;
  const auto left =
      static_cast<std::int64_t>(static_cast<double>(tasks - done) / per_second * 1000.0);
  return std::string(text) + "  ETA " + human(Duration::millis(left));
}

Screen screen_of_stderr() {
  winsize size{};
  Screen screen;
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return screen;
  if (size.ws_col > 1) screen.columns = size.ws_col;
  if (size.ws_row > 3) screen.rows = size.ws_row;
  return screen;
}

}  // namespace

std::string progress_line(const json::Value& step, Duration running) {
  const std::int64_t tasks = number_of(step, "tasks", 1);
  const std::int64_t done = count(step, "SUCCEEDED");
  const std::int64_t failed =
      count(step, "FAILED") + count(step, "TIMEOUT") + count(step, "OUT_OF_MEMORY");
  std::string name = text_of(step, "name");
  name.resize(std::max<std::size_t>(name.size(), 16), ' ');
  std::string line = name + " " + std::to_string(done) + "/" + std::to_string(tasks);
  const std::int64_t live = count(step, "RUNNING") + count(step, "STARTING");
  if (live > 0) line += "  " + std::to_string(live) + " running";
  if (failed > 0) line += "  " + std::to_string(failed) + " failed";
  const std::string status = text_of(step, "status");
  if (status == "RUNNING") return line + rate_and_eta(done, tasks, running);
  return line + "  " + status;
}

void Progress::draw(const json::Value& job, Duration since_start) {
  if (!terminal_) return;
  clear();
  const json::Value* steps = job.find("steps");
  if (steps == nullptr || !steps->is_list()) return;
  const Screen screen = screen_of_stderr();
  const json::Value::List& all = steps->as_list();
  const std::size_t shown = std::min(all.size(), screen.rows - 2);
  for (std::size_t at = 0; at < shown; ++at) {
    draw_line(progress_line(all[at], since_start), screen);
  }
  if (shown < all.size()) {
    draw_line("... and " + std::to_string(all.size() - shown) + " steps more", screen);
  }
}

void Progress::draw_line(std::string line, const Screen& screen) {
  CHECK(screen.columns > 1, "a screen without room for a letter");
  // A line that wraps would be two to wipe out.
  if (line.size() >= screen.columns) line.resize(screen.columns - 1);
  say(line);
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
