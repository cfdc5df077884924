#pragma once

#include <string>

#include "base/units.h"
#include "json/value.h"

namespace runnel::cli {

struct Screen {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// A line per step on a terminal, as many as fit, drawn again in place; nothing in a pipe.
//
// Threads: one. clear() before anything else is printed, so that output and progress do not mix.
class Progress {
 public:
  explicit Progress(bool terminal) : terminal_(terminal) {}
  void draw(const json::Value& job, Duration since_start);
  void clear();

 private:
  void draw_line(std::string line, const Screen& screen);

  bool terminal_;
  int lines_ = 0;
};

// "train   12/200  3 running  1 failed  41.0/s  ETA 5 s": one step of a job's document.
std::string progress_line(const json::Value& step, Duration running);

}  // namespace runnel::cli
