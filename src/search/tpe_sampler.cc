#include "search/tpe_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "search/parzen.h"
#include "search/permutation.h"
#include "search/running_trials.h"
#include "search/trial_memory.h"

namespace runnel::search {
namespace {

constexpr std::int64_t kStartTrials = 10;
constexpr double kGoodShare = 0.1;
constexpr std::size_t kGoodMax = 25;
constexpr std::size_t kOthersMax = 64;
constexpr std::size_t kLiarsMax = 32;  // Only the latest running trials count.
constexpr int kCandidates = 24;

enum class TpeUse : std::uint8_t { kStart, kMemory, kSuggest };

class TpeSampler : public Sampler {
 public:
  explicit TpeSampler(const SamplerSetup& setup)
      : space_(*setup.space),
        seed_(setup.seed),
        memory_(kGoodMax, kOthersMax, key_of(TpeUse::kMemory)) {}

  Point suggest(std::int64_t number) override {
    if (memory_.count() < kStartTrials) {
      return spread_point(space_, key_of(TpeUse::kStart), number, kStartTrials);
    }
    RandomStream stream(derive(key_of(TpeUse::kSuggest), static_cast<std::uint64_t>(number)));
    return best_candidate(Parzen(space_, good()), Parzen(space_, others()), stream);
  }

  void asked(std::int64_t number, const Point& point) override {
    running_.add(number, to_units(space_, point));
  }

  void told(std::int64_t number, const Outcome& outcome) override {
    memory_.add({number, grade_of(outcome), running_.take(number)});
  }

 private:
  std::uint64_t key_of(TpeUse use) const { return derive(seed_, static_cast<std::uint64_t>(use)); }

  std::size_t good_count() const {
    const auto share = std::ceil(kGoodShare * static_cast<double>(memory_.count()));
    return std::min(static_cast<std::size_t>(share), kGoodMax);
  }

  // No failure is good, even while nothing is better.
  std::vector<const UnitPoint*> good() const {
    std::vector<const UnitPoint*> found;
    for (const EndedTrial& trial : memory_.best()) {
      if (found.size() == good_count() || trial.grade.kind == Outcome::Kind::kFailed) break;
      found.push_back(&trial.units);
    }
    return found;
  }

  std::vector<const UnitPoint*> others() const {
    std::vector<const UnitPoint*> found = running_.latest(kLiarsMax);
    for (std::size_t rank = good().size(); rank < memory_.best().size(); ++rank) {
      found.push_back(&memory_.best()[rank].units);
    }
    for (const EndedTrial& trial : memory_.others()) found.push_back(&trial.units);
    return found;
  }

  Point best_candidate(const Parzen& good, const Parzen& others, RandomStream& stream) const {
    Point best;
    double best_ratio = -std::numeric_limits<double>::infinity();
    for (int drawn = 0; drawn < kCandidates; ++drawn) {
      Point point = good.draw(stream);
      const UnitPoint units = to_units(space_, point);
      const double ratio = good.log_density(units) - others.log_density(units);
      if (ratio > best_ratio) {
        best_ratio = ratio;
        best = std::move(point);
      }
    }
    return best;
  }

  const Space& space_;
  const std::uint64_t seed_;
  TrialMemory memory_;
  RunningTrials running_;
};

}  // namespace

std::unique_ptr<Sampler> make_tpe_sampler(const SamplerSetup& setup) {
  return std::make_unique<TpeSampler>(setup);
}

}  // namespace runnel::search
