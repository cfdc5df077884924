#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "control/log_source.h"

namespace runnel::control {

// The lines of a piece of output as JSON documents, each with its newline:
// {"attempt","bytes"?,"cursor"?,"job","level","msg","rank","step","stream","task","ts"}. Of a line
// that was written over with carriage returns (a progress bar) "msg" is the last version, without
// its end, and bytes that are not UTF-8 are U+FFFD in it. Where "msg" and a newline are not exactly
// what was written, "bytes" is, each byte as the character of that number (Latin-1). The last line
// carries the cursor: a reader that comes back after an earlier one gets the piece again.
//
// Lifetime: the piece and the name outlive it.
class LogLines {
 public:
  LogLines(const model::LogPiece& piece, std::string_view step_name)
      : piece_(piece), step_name_(step_name), rest_(piece.bytes) {}

  bool done() const { return rest_.empty(); }
  // Appends those of about `bytes` of the output: of short lines a page makes megabytes of JSON,
  // which is long for one turn of a loop.
  void append(std::string& text, std::size_t bytes);

 private:
  const model::LogPiece& piece_;
  std::string_view step_name_;
  std::string_view rest_;
};

// {"damage","job"}: why lines that were written are missing.
std::string damage_line(const JobId& job, std::string_view sentence);

// A line without what was written over, and without its end.
std::string_view folded(std::string_view line);

}  // namespace runnel::control
