#include "search/nsga2_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "search/genes.h"
#include "search/grade.h"
#include "search/pareto.h"
#include "search/permutation.h"
#include "search/running_trials.h"

namespace runnel::search {
namespace {

// A tenth of the budget for the first population, within these.
constexpr std::int64_t kPopulationMin = 10;
constexpr std::int64_t kPopulationMax = 100;

enum class Nsga2Use : std::uint8_t { kStart, kSuggest };

struct Member {
  std::int64_t number = 0;
  UnitPoint units;
  Values values;
};

class Nsga2Sampler : public Sampler {
 public:
  explicit Nsga2Sampler(const SamplerSetup& setup)
      : space_(*setup.space),
        seed_(setup.seed),
        objectives_(setup.search->objectives.size()),
        size_(std::clamp(setup.search->max_trials / 10, kPopulationMin, kPopulationMax)) {}

  Point suggest(std::int64_t number) override {
    if (number < size_ || population_.size() < 2) {
      return spread_point(space_, key_of(Nsga2Use::kStart), number, size_);
    }
    RandomStream stream(derive(key_of(Nsga2Use::kSuggest), static_cast<std::uint64_t>(number)));
    const UnitPoint& one = parent(stream);
    const UnitPoint& other = parent(stream);
    return from_units(space_, child_of(space_, one, other, stream));
  }

  void asked(std::int64_t number, const Point& point) override {
    running_.add(number, to_units(space_, point));
  }

  void told(std::int64_t number, const Outcome& outcome) override {
    population_.push_back({number, running_.take(number), values_of(outcome)});
    rank();
    if (population_.size() > static_cast<std::size_t>(size_)) population_.pop_back();
  }

 private:
  std::uint64_t key_of(Nsga2Use use) const {
    return derive(seed_, static_cast<std::uint64_t>(use));
  }

  // A trial that is not complete is dominated by all that are.
  Values values_of(const Outcome& outcome) const {
    if (outcome.kind != Outcome::Kind::kComplete) {
      return Values(objectives_, std::numeric_limits<double>::infinity());
    }
    CHECK(outcome.values.size() == objectives_, "a value for each objective");
    return outcome.values;
  }

  // Best first: by front, then the lonelier, then the earlier.
  void rank() {
    std::vector<Values> all;
    all.reserve(population_.size());
    for (const Member& member : population_) all.push_back(member.values);
    std::vector<std::size_t> order;
    for (const std::vector<std::size_t>& front : nondominated_fronts(all)) {
      const std::vector<std::size_t> sorted = lonelier_first(all, front);
      order.insert(order.end(), sorted.begin(), sorted.end());
    }
    std::vector<Member> ranked;
    ranked.reserve(order.size());
    for (const std::size_t i : order) ranked.push_back(std::move(population_[i]));
    population_ = std::move(ranked);
  }

  std::vector<std::size_t> lonelier_first(const std::vector<Values>& all,
                                          const std::vector<std::size_t>& front) const {
    const std::vector<double> distances = crowding_distances(all, front);
    std::vector<std::size_t> places(front.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, {}, [&](std::size_t place) {
      return std::tuple(-distances[place], population_[front[place]].number);
    });
    std::vector<std::size_t> sorted;
    sorted.reserve(places.size());
    for (const std::size_t place : places) sorted.push_back(front[place]);
    return sorted;
  }

  // The better of two.
  const UnitPoint& parent(RandomStream& stream) const {
    const std::uint64_t one = stream.below(population_.size());
    const std::uint64_t other = stream.below(population_.size());
    return population_[std::min(one, other)].units;
  }

  const Space& space_;
  const std::uint64_t seed_;
  const std::size_t objectives_;
  const std::int64_t size_;
  std::vector<Member> population_;  // Best first.
  RunningTrials running_;
};

}  // namespace

std::unique_ptr<Sampler> make_nsga2_sampler(const SamplerSetup& setup) {
  return std::make_unique<Nsga2Sampler>(setup);
}

}  // namespace runnel::search
