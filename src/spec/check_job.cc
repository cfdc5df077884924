#include "spec/check_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/shown.h"
#include "extract/pattern.h"
#include "model/check_spec.h"

namespace runnel::spec {
namespace {

Error uncaught_step(const std::string& step) {
  return Error(Errc::kInvalid, "no pattern has the field '" + shown(step) + "'")
      .with_value(shown(step))
      .with_hint("catch it where it is printed: %{INT:" + shown(step) + "}");
}

// Its own word for the step, which somebody chose.
bool names_step(const model::LogPattern& pattern) {
  return pattern.step != model::LogPattern().step;
}

std::string path_of(const model::StepSpec& step, const PatternFault& fault) {
  const bool regex = fault.field == PatternFault::Field::kRegex;
  return "steps." + step.name + ".metrics.log[" + std::to_string(fault.pattern) +
         (regex ? "].regex" : "].step");
}

}  // namespace

std::vector<PatternFault> check_patterns(const std::vector<model::LogPattern>& patterns) {
  std::vector<PatternFault> faults;
  std::vector<extract::Pattern> compiled;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    Result<extract::Pattern> pattern = extract::Pattern::create(patterns[i]);
    if (pattern.ok()) {
      compiled.push_back(*std::move(pattern));
    } else {
      faults.push_back({i, PatternFault::Field::kRegex, std::move(pattern).error()});
    }
  }
  if (!faults.empty()) return faults;
  // A step that no pattern catches would never be seen.
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string& step = patterns[i].step;
    const auto catches = [&](const extract::Pattern& each) { return each.has_field(step); };
    if (!names_step(patterns[i]) || std::ranges::any_of(compiled, catches)) continue;
    faults.push_back({i, PatternFault::Field::kStep, uncaught_step(step)});
  }
  return faults;
}

std::vector<Error> check_job(const model::JobSpec& spec) {
  std::vector<Error> faults = model::check_spec(spec);
  for (const model::StepSpec& step : spec.steps) {
    if (step.metrics.log.size() > model::kLogPatternsMax) continue;  // Told above.
    for (PatternFault& fault : check_patterns(step.metrics.log)) {
      if (faults.size() >= model::kFaultsMax) return faults;
      fault.error.with_field(path_of(step, fault)).with_value(shown(fault.error.value));
      faults.push_back(std::move(fault.error));
    }
  }
  return faults;
}

}  // namespace runnel::spec
