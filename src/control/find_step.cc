#include "control/find_step.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"

namespace runnel::control {
namespace {

constexpr std::size_t kStepsListedMax = 10;

using Names = std::vector<std::string_view>;

Names names_of(const model::JobSpec& spec) {
  Names names;
  for (const model::StepSpec& step : spec.steps) names.emplace_back(step.name);
  return names;
}

std::optional<std::size_t> position_of(const Names& names, const std::string& text) {
  const auto named = std::find(names.begin(), names.end(), text);
  if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (std::to_string(at) == text) return at;
  }
  return std::nullopt;
}

std::string listed(const Names& names) {
  std::string text;
  for (std::size_t at = 0; at < std::min(names.size(), kStepsListedMax); ++at) {
    text.append(text.empty() ? "" : ", ").append(names[at]);
  }
  if (names.size() <= kStepsListedMax) return text;
  return text + " and " + std::to_string(names.size() - kStepsListedMax) + " more";
}

}  // namespace

Result<StepIndex> find_step(const model::JobSpec& spec, const std::string& text) {
  const Names names = names_of(spec);
  CHECK(!names.empty(), "a job without steps");
  const auto position = position_of(names, text);
  if (position) return StepIndex(static_cast<std::int32_t>(*position));
  const std::string near = nearest(text, names);
  return Error(Errc::kNotFound, "the job has no step '" + text + "'")
      .with_field("step")
      .with_value(text)
      .with_hint((near.empty() ? "" : "did you mean '" + near + "'? ") +
                 ("it has " + listed(names)));
}

std::vector<std::string> names_in(const model::JobSpec* spec) {
  std::vector<std::string> names;
  if (spec == nullptr) return names;
  for (const model::StepSpec& step : spec->steps) names.push_back(step.name);
  return names;
}

}  // namespace runnel::control
