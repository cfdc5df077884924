#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

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
  for (const json::Value& step : steps->as_list()) {
    say(progress_line(step, since_start));
    ++lines_;
  }
}

void Progress::clear() {
  if (lines_ == 0) return;
  std::string erase;
  for (; lines_ > 0; --lines_) erase += "\x1b[1A\x1b[2K";
  std::fputs(erase.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace runnel::cli
