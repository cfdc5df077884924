#include "search/random_sampler.h"

#include "search/permutation.h"
#include "search/unit_point.h"

namespace runnel::search {
namespace {

class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(const SamplerSetup& setup) : space_(*setup.space), seed_(setup.seed) {}

  Point suggest(std::int64_t number) override {
    RandomStream stream(derive(seed_, static_cast<std::uint64_t>(number)));
    return random_point(space_, stream);
  }
  void asked(std::int64_t /*number*/, const Point& /*point*/) override {}
  void told(std::int64_t /*number*/, const Outcome& /*outcome*/) override {}

 private:
  const Space& space_;
  const std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Sampler> make_random_sampler(const SamplerSetup& setup) {
  return std::make_unique<RandomSampler>(setup);
}

}  // namespace runnel::search
