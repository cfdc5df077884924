#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::model {

// The one place that knows how `{{name}}` is written: spec:: checks references with it when a file
// is read, brain:: fills them when an attempt starts. Names: the step's own parameters, `item` (of
// foreach), and those of kTaskNames.
//
// In a run of opening braces each four stand for two that are meant as such; of what is left, the
// last two open a reference: `{{{{x}}` is the text `{{x}}`, and `{"lr":{{lr}}}` needs no escape.
// Spaces and tabs around the name do not count. Closing braces outside a reference are text.
struct TemplatePart {
  enum class Kind : std::uint8_t {
    kText,  // As it is to appear.
    kName,  // The name between the braces, trimmed; may be empty or nonsense.
    kOpen,  // `{{` that nothing closes on its line: a mistake, the rest of the text.
  };
  Kind kind = Kind::kText;
  std::string_view text;   // A view into the scanned text.
  std::size_t offset = 0;  // Start of the part in that text: for kName and kOpen, the braces.
  friend bool operator==(const TemplatePart&, const TemplatePart&) = default;
};

// Cuts a text into its parts. O(size).
std::vector<TemplatePart> scan_template(std::string_view text);

// The references that every task has, whatever its parameters are called.
inline constexpr std::string_view kJobIdName = "job.id";
inline constexpr std::string_view kJobNameName = "job.name";
inline constexpr std::string_view kTaskIndexName = "task.index";
inline constexpr std::string_view kTaskCountName = "task.count";
bool is_task_name(std::string_view name);

// `best.STEP.name`: a parameter of the best trial of another step's search.
inline constexpr std::string_view kBestPrefix = "best.";
struct BestName {
  std::string_view step;
  std::string_view name;
};
// Nothing when the text has another form.
std::optional<BestName> parse_best(std::string_view name);

// The text with every reference replaced by what `value_of` gives for its name. A reference without
// a value and an open one stay as they are written: spec:: refused them, and a fill cannot fail.
using TemplateValues = std::function<std::optional<std::string>(std::string_view name)>;
std::string fill_template(std::string_view text, const TemplateValues& value_of);

}  // namespace runnel::model
