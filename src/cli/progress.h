#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/screen.h"
#include "json/value.h"

namespace runnel::cli {

// A line per step on a terminal, as many as fit, drawn again in place; nothing in a pipe.
//
// Threads: one. clear() before anything else is printed, so that output and progress do not mix.
class Progress {
 public:
  explicit Progress(bool terminal) : terminal_(terminal) {}
  void draw(const json::Value& job, Duration since_start);
  void clear();

 private:
  void draw_line(const std::string& line, const Screen& screen);

  bool terminal_;
  int lines_ = 0;
};

// "train   12/200  3 running  1 failed  6 %  ETA 5 s  best accuracy=0.956 (trial 13)": one step of
// a job's document, with what its progress tells.
std::string progress_line(const json::Value& job, const json::Value& step, Duration running);

// Of a job's document with progress: "42 %", "5 s", and a line for each live task that reports.
// Empty where nothing is told.
std::string share_text(const json::Value& job, const std::string& step);
std::string left_text(const json::Value& job, const std::string& step);
std::vector<std::string> live_lines(const json::Value& job, const std::string& step);

}  // namespace runnel::cli
