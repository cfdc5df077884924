#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "json/value.h"

namespace runnel::cli {

// The last lines that a task wrote to stderr, or to stdout where stderr tells nothing.
//
// Contract: fed with documents of lines as the API gives them, in their order. Blank lines at the
//           end are left out: they would push the cause out. At most kShown lines are kept.
class LastLines {
 public:
  using Lines = std::vector<std::string>;
  static constexpr std::size_t kShown = 10;

  void add(const json::Value& line);
  const Lines& lines() const { return errors_.lines.empty() ? output_.lines : errors_.lines; }

 private:
  struct Stream {
    Lines lines;
    std::size_t blank = 0;  // Lines since the last of `lines`.
    void add(std::string line);
  };

  Stream output_;
  Stream errors_;
};

}  // namespace runnel::cli
