#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "extract/number.h"
#include "model/metric_spec.h"

namespace re2 {
class RE2;
}

namespace runnel::extract {

// A compiled log pattern.
//
// Contract: create() refuses with a value that is the faulty part of the pattern, and a remedy.
//           find() takes time linear in the text and looks for the first match; `^` and `$` are the
//           ends of lines.
// Threads:  any number at a time: immutable.
// Limits:   kMemoryMax of RE2's per pattern; a pattern that needs more is refused.
class Pattern {
 public:
  static constexpr std::int64_t kMemoryMax = 8 << 20;

  static Result<Pattern> create(const model::LogPattern& spec);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  struct Found {
    std::optional<std::int64_t> step;
    std::vector<std::pair<std::string, std::string>> values;  // Ascending by name.
  };
  std::optional<Found> find(std::string_view text) const;
  // How many lines it looks at together.
  std::size_t lines() const { return lines_; }
  bool has_field(std::string_view name) const;

 private:
  struct Field {
    std::string name;    // As it is written in the pattern.
    std::string metric;  // As the metric is called.
    int group = 0;       // The regular expression's group.
    Digits digits = Digits::kDecimal;
    bool is_step = false;
  };
  Pattern();

  std::unique_ptr<const re2::RE2> regex_;
  std::vector<Field> fields_;  // Ascending by name.
  std::size_t lines_ = 1;
};

}  // namespace runnel::extract
