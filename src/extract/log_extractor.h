#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "extract/line_splitter.h"
#include "extract/pattern.h"
#include "extract/sample.h"
#include "model/metric_spec.h"

namespace runnel::extract {

using Patterns = std::shared_ptr<const std::vector<Pattern>>;  // Shared by a step's tasks.

// Fails with the error of the first pattern that is none, and its field, "[2].regex".
Result<Patterns> compile(const std::vector<model::LogPattern>& specs);

// Finds metrics in one stream of a program's output.
//
// Contract: add() appends what the bytes say to the samples; how the output was cut changes no
//           value. A step holds for later lines until another is seen; before the first one a
//           pattern counts its matches. A line takes part in one match of each pattern at most.
// Threads:  one at a time.
class LogExtractor {
 public:
  explicit LogExtractor(Patterns patterns);

  void add(std::string_view bytes, std::vector<MetricSample>& samples);
  void end(std::vector<MetricSample>& samples);
  // Something was left out here.
  void skip_line();

 private:
  // What one pattern has looked at and not used.
  struct Look {
    std::deque<std::string> lines;
    std::int64_t matches = 0;
  };

  void take_line(std::string_view line, std::vector<MetricSample>& samples);
  std::optional<Pattern::Found> find(const Pattern& pattern, Look& look, std::string_view line);

  Patterns patterns_;
  std::vector<Look> looks_;
  LineSplitter lines_;
  std::optional<std::int64_t> step_;
};

}  // namespace runnel::extract
