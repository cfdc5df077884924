#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/refs.h"

// Ranks that hang, diverge or lag: docs/design/health.md.
namespace runnel::model {

// A problem of a rank that runs. Its word is the reason that it is told with.
enum class HealthProblem : std::uint8_t {
  kHung,
  kNotFinite,
  kSlow,
  kMetricMissing,  // Nothing is reported to a search but under a name like its metric's. Of no
                   // policy: the brain sees it in what trials report.
};

// The fate of an attempt of which a rank has a problem. All are told of.
enum class HealthAction : std::uint8_t {
  kWarn,     // It goes on.
  kRestart,  // It ends, and its task is tried again at the cost of one of retry.max.
  kKill,     // It ends, and its task has failed.
};

struct HangPolicy {
  Duration after;  // Silence that makes a hang. kSilenceMin at least.
  HealthAction action = HealthAction::kWarn;
  friend bool operator==(const HangPolicy&, const HangPolicy&) = default;
};

struct NanPolicy {
  std::string metric;  // Empty: any.
  HealthAction action = HealthAction::kWarn;
  friend bool operator==(const NanPolicy&, const NanPolicy&) = default;
};

struct StragglerPolicy {
  std::int64_t factor_permille = 3'000;  // Thousandths of the median of the other ranks.
  HealthAction action = HealthAction::kWarn;
  friend bool operator==(const StragglerPolicy&, const StragglerPolicy&) = default;
};

// The problems that are looked for in the attempts of a step.
struct HealthPolicy {
  std::optional<HangPolicy> hang;
  std::optional<NanPolicy> nan;
  std::optional<StragglerPolicy> straggler;

  bool any() const { return hang || nan || straggler; }
  friend bool operator==(const HealthPolicy&, const HealthPolicy&) = default;
};

inline constexpr Duration kSilenceMin = Duration::seconds(1);
inline constexpr std::int64_t kFactorPermilleMin = 1'001;
inline constexpr std::int64_t kFactorPermilleMax = 1'000'000;
// The most bytes in the name of a metric that is told of.
inline constexpr std::size_t kMetricNameMax = 255;
inline constexpr Micros kStepTimeMax = Micros::count(1'000'000'000'000);  // 11 days.
inline constexpr std::int32_t kSlowStepsMin = 3;                          // In a row.

// A fact about a rank that may matter. What it amounts to, the brain says.
//
// Contract: as a rank's report: the same one may arrive again, or late.
struct HealthReport {
  AttemptRef attempt;
  std::int32_t rank = 0;
  HealthProblem problem = HealthProblem::kHung;
  Time since;              // By the node's wall clock.
  Duration silent_for;     // kHung.
  std::int64_t step = -1;  // The last one that the rank reported; -1: none.
  std::string metric;      // kNotFinite: what was reported as
  std::string value;       // nan, inf or -inf.
  Micros took;             // kSlow: the quickest of its last `steps` steps, and
  Micros median;           // the median of the other ranks.
  std::int32_t steps = 0;
  std::int32_t silent_others = 0;  // kHung: ranks that are silent as well.
  friend bool operator==(const HealthReport&, const HealthReport&) = default;
};

// "RankHung", "MetricNotFinite", "RankSlow", "MetricMissing".
std::string_view to_string(HealthProblem problem);
Result<HealthProblem> parse_health_problem(std::string_view word);
// "warn", "restart", "kill".
std::string_view to_string(HealthAction action);
Result<HealthAction> parse_health_action(std::string_view word);

// Whether the value is nan or infinite, and of the metric that is wanted; "" means any whose name
// can be reported.
bool is_unhealthy(std::string_view metric, std::string_view value, std::string_view wanted);

// The step's word on this problem; nothing when it does not want to know. Of kMetricMissing all
// are warned.
std::optional<HealthAction> action_on(const HealthPolicy& policy, HealthProblem problem);

}  // namespace runnel::model
