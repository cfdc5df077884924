#include "search/sampler.h"

#include <algorithm>

#include "base/check.h"
#include "search/cma_es_sampler.h"
#include "search/gp_sampler.h"
#include "search/grid_sampler.h"
#include "search/nsga2_sampler.h"
#include "search/random_sampler.h"
#include "search/tpe_sampler.h"

namespace runnel::search {
namespace {

using Method = model::SearchSpec::Method;

// What docs/search/auto.md says: keep it true.
constexpr std::int64_t kGpTrialsMax = 300;
constexpr std::size_t kGpAxesMax = 20;
constexpr std::int64_t kCmaEsTrialsMin = 1'000;

bool all_numbers(const Space& space) {
  return std::ranges::none_of(space.axes(), [](const Axis& axis) {
    return axis.kind == Axis::Kind::kCategorical && axis.count > 1;
  });
}

bool any_condition(const Space& space) {
  return std::ranges::any_of(space.axes(),
                             [](const Axis& axis) { return axis.parent.has_value(); });
}

}  // namespace

Method chosen_method(const model::SearchSpec& search, const Space& space) {
  if (search.objectives.size() > 1) return Method::kNsga2;
  const auto points = grid_points(space);
  if (points && *points <= search.max_trials) return Method::kGrid;
  if (search.max_trials <= kGpTrialsMax && space.size() <= kGpAxesMax) return Method::kGp;
  const bool plain = all_numbers(space) && !any_condition(space);
  return plain && search.max_trials >= kCmaEsTrialsMin ? Method::kCmaEs : Method::kTpe;
}

std::unique_ptr<Sampler> make_sampler(const SamplerSetup& setup) {
  CHECK(setup.search != nullptr && setup.space != nullptr, "a sampler of nothing");
  Method method = setup.search->method;
  if (method == Method::kAuto) method = chosen_method(*setup.search, *setup.space);
  switch (method) {
    case Method::kGrid: return make_grid_sampler(setup);
    case Method::kTpe: return make_tpe_sampler(setup);
    case Method::kCmaEs: return make_cma_es_sampler(setup);
    case Method::kGp: return make_gp_sampler(setup);
    case Method::kNsga2: return make_nsga2_sampler(setup);
    case Method::kRandom:
    case Method::kPbt:  // The first population; the others are copies of it, which are not asked.
    case Method::kAuto: return make_random_sampler(setup);
  }
  CHECK(false, "a method that is none");
  return nullptr;
}

}  // namespace runnel::search
