#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "cli/output_line.h"
#include "json/value.h"

namespace runnel::cli {

// A line per step on a terminal, as many as fit, drawn again in place; nothing in a pipe.
//
// Threads: one. What is printed meanwhile goes through print() and say(), or comes after clear(),
// so that it and the lines do not mix.
class Progress {
 public:
  explicit Progress(bool terminal);
  // Whether the lines are away while output flows: a pipe, as to `tee`, may bring it to the same
  // terminal by itself, where they would wipe it out.
  bool yields() const { return yields_; }
  void draw(const json::Value& job, Duration since_start);
  // With the lines below it, in one write where all of it goes to one terminal.
  void print(const OutputBatch& batch);
  void say(std::string_view text);
  void clear();  // Until draw().

  // The text to write: the lines as the job has them now; output above them; a line of ours.
  std::string redrawn(const json::Value& job, Duration since_start);
  std::string above(std::string_view text);
  std::string aside(std::string_view text);

 private:
  // Where output has left the cursor. A line that ends with a carriage return will be written over.
  enum class Cursor : std::uint8_t { kFreshLine, kPassingLine, kWithinLine };

  std::string wiped();
  std::string block();
  void follow(std::string_view text);

  bool terminal_;
  bool yields_;
  std::vector<std::string> lines_;
  std::size_t drawn_ = 0;
  Cursor cursor_ = Cursor::kFreshLine;
};

// "train   12/200  3 running  1 failed  6 %  ETA 5 s  best accuracy=0.956 (trial 13)": one step of
// a job's document, with what its progress tells.
std::string progress_line(const json::Value& job, const json::Value& step, Duration running);
// In at most so many columns (1 or more): the blanks that fill up the step's name go first, then
// the end is cut.
std::string fitted_progress_line(std::string line, std::size_t columns);

// From a job's document with progress: "42 %", "5 s", and a line for each live task that reports.
// Empty where nothing is told.
std::string share_text(const json::Value& job, const std::string& step);
std::string left_text(const json::Value& job, const std::string& step);
std::vector<std::string> live_lines(const json::Value& job, const std::string& step);

}  // namespace runnel::cli
