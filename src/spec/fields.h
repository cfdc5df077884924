#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace runnel::spec {

// The form of a field's value: drives the JSON Schema and the reference page.
enum class Form : std::uint8_t {
  kText,
  kBoolean,
  kInteger,
  kNatural,    // 1, 2, 3, ...
  kIntegers,   // An integer or a list of them.
  kCpus,       // 0.5, 16, 16+
  kBytes,      // 24GB
  kDuration,   // 90s
  kDurations,  // 30s..10m
  kMoney,      // 2.5
  kTexts,      // A text or a list of texts.
  kLines,      // A script, or its lines.
  kArguments,  // A list of texts.
  kValues,     // A list of scalars.
  kPair,       // [low, high]
  kTextMap,    // NAME: value
  kSecrets,
  kVolumes,
  kAccelerators,
  kParameters,
  kResources,
  kRetry,
  kCheckpoint,
  kHealth,
  kHang,
  kNan,
  kStraggler,
  kSearch,
  kPruner,
  kPopulation,
  kMetrics,
  kLogPatterns,  // A pattern, a list of patterns, or groups of them.
  kModes,        // {metric: min}
  kCondition,    // {parameter: values}
  kPoints,       // [{parameter: value}]
  kEarlier,      // [{params: {parameter: value}, values: {metric: value}}]
  kSteps,
  kNodes,
  kAny,  // Fields that are not built yet.
};

enum class Built : std::uint8_t { kYes, kNotYet };

// The places of a step's field when the file has `steps`.
enum class Spread : std::uint8_t {
  kOwn,      // Only where it belongs.
  kDefault,  // Also at the top, as the default of every step.
};

// One field of a file: the single source of what is known, read, documented and published.
struct Field {
  std::string_view name;
  Form form = Form::kAny;
  std::string_view doc;  // One sentence for the reference page and the schema.
  std::array<std::string_view, 1> aliases = {};  // Other spellings; empty when there are none.
  Spread spread = Spread::kOwn;
  Built built = Built::kYes;
};

// The fields of one kind of mapping.
struct FieldTable {
  std::string_view what;  // "a step": how messages call the mapping.
  std::vector<Field> fields;

  // By its name or by an alias; null when there is none.
  const Field* find(std::string_view spelling) const;
  // All spellings that can be written in this version.
  std::vector<std::string_view> built_names() const;
};

const FieldTable& job_fields();  // Beside `steps`: the job's own.
const FieldTable& step_fields();
const FieldTable& top_fields();  // Both, as they may stand at the top of a file.
const FieldTable& resource_fields();
const FieldTable& retry_fields();
const FieldTable& checkpoint_fields();
const FieldTable& volume_fields();
const FieldTable& metric_source_fields();
const FieldTable& log_pattern_fields();
const FieldTable& health_fields();
const FieldTable& hang_fields();
const FieldTable& nan_fields();
const FieldTable& straggler_fields();
const FieldTable& search_fields();
const FieldTable& earlier_fields();
const FieldTable& pruner_fields();
const FieldTable& population_fields();
const FieldTable& parameter_fields();  // {range: ...} and its kind.
const FieldTable& node_fields();
const FieldTable& nodes_file_fields();

// Our name for a word of another system: "gpus" -> "resources.accelerators"; "" if unknown.
std::string_view our_word_for(std::string_view foreign);

}  // namespace runnel::spec
