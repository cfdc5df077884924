#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace runnel::output {

// How far into a job's output a reader is.
struct LogCursor {
  // An attempt of which the reader has not had all.
  struct Open {
    std::int64_t read[2] = {0, 0};  // Bytes had of each stream, from the attempt's beginning.
    std::int64_t gap_record = -1;   // The latest kGap record of it that was passed.
    friend bool operator==(const Open&, const Open&) = default;
  };
  std::int64_t records = 0;           // Index records passed.
  std::map<std::int64_t, Open> open;  // By the number of the kStart record.
  friend bool operator==(const LogCursor&, const LogCursor&) = default;
};

// "120;117.4096.0;119.0.80.118": text of digits, stops and semicolons.
std::string to_string(const LogCursor& cursor);
// "" is the beginning.
Result<LogCursor> parse_log_cursor(const std::string& text);

}  // namespace runnel::output
