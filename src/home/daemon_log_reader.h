#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "env/files.h"
#include "home/daemon_log.h"
#include "home/home.h"
#include "json/value.h"

namespace runnel::home {

// Reads the lines of a home's daemon while one writes them, or none runs.
//
// Contract: next() returns the whole lines that came since the call before, oldest first, also over
//           a change of files; the first call returns all that the home holds. What does not parse
//           is passed over. A home without lines has none.
// Threads:  one; it blocks.
class DaemonLogReader {
 public:
  explicit DaemonLogReader(const Home& home)
      : file_(home.log_lines()), older_(home.older_log_lines()) {}

  Result<std::vector<json::Value>> next();

 private:
  void take(std::string_view text, std::vector<json::Value>& lines);

  const std::string file_;
  const std::string older_;
  std::optional<env::FileId> id_;  // The file that was read last.
  std::size_t read_ = 0;           // Bytes of it.
};

// The line's level; kInfo where it names none.
LogLevel level_of(const json::Value& line);

}  // namespace runnel::home
