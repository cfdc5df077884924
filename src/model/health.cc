#include "model/health.h"

#include "base/check.h"
#include "model/detail/words.h"
#include "model/spec_words.h"

namespace runnel::model {
namespace {

constexpr detail::Words<4> kHealthProblemWords = {"RankHung", "MetricNotFinite", "RankSlow",
                                                  "MetricMissing"};

template <typename Policy>
std::optional<HealthAction> action_of(const std::optional<Policy>& policy) {
  return policy ? std::optional(policy->action) : std::nullopt;
}

}  // namespace

std::string_view to_string(HealthProblem problem) {
  return detail::word_of(problem, kHealthProblemWords);
}

Result<HealthProblem> parse_health_problem(std::string_view word) {
  return detail::parse_word<HealthProblem>(word, kHealthProblemWords, "a health problem of a rank");
}

std::string_view to_string(HealthAction action) {
  return detail::word_of(action, kHealthActionWords);
}

Result<HealthAction> parse_health_action(std::string_view word) {
  return detail::parse_word<HealthAction>(word, kHealthActionWords, "an action");
}

bool is_unhealthy(std::string_view metric, std::string_view value, std::string_view wanted) {
  const bool meant = wanted.empty() ? metric.size() <= kMetricNameMax : metric == wanted;
  return meant && (value == "nan" || value == "inf" || value == "-inf");
}

std::optional<HealthAction> action_on(const HealthPolicy& policy, HealthProblem problem) {
  switch (problem) {
    case HealthProblem::kHung: return action_of(policy.hang);
    case HealthProblem::kNotFinite: return action_of(policy.nan);
    case HealthProblem::kSlow: return action_of(policy.straggler);
    case HealthProblem::kMetricMissing: return HealthAction::kWarn;
  }
  CHECK(false, "a problem without a policy");
  return std::nullopt;
}

}  // namespace runnel::model
