#include "brain/importance.h"

#include <algorithm>

#include "base/check.h"
#include "brain/searcher.h"
#include "search/importance.h"
#include "search/space.h"

namespace runnel::brain {

std::vector<std::pair<std::string, double>> importance_of(const model::StepSpec& spec,
                                                          const Study& study) {
  CHECK(spec.search.has_value(), "only a search has parameters of more or less importance");
  const search::Space space(spec.params);
  std::vector<search::Point> points;
  std::vector<double> values;
  for (const Trial& trial : study.trials) {
    if (trial.told != model::TrialEnd::kComplete || trial.own_reports().empty()) continue;
    const std::vector<double> found = values_of(*spec.search, trial.own_reports().back());
    Result<search::Point> point = space.point(trial.params);
    if (found.empty() || !point.ok()) continue;
    points.push_back(*std::move(point));
    values.push_back(found.front());
  }
  const std::vector<double> shares = search::importances(space.axes(), points, values);
  std::vector<std::pair<std::string, double>> named;
  named.reserve(shares.size());
  for (std::size_t axis = 0; axis < shares.size(); ++axis) {
    named.emplace_back(spec.params[axis].name, shares[axis]);
  }
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return named;
}

}  // namespace runnel::brain
