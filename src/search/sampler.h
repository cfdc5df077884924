#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/search_spec.h"
#include "search/space.h"

namespace runnel::search {

// What came of a trial, as samplers see it: smaller values are better, whatever the user asked for.
struct Outcome {
  enum class Kind : std::uint8_t {
    kComplete,  // `values`: one per objective, all finite.
    kPruned,    // `values`: its last report, at `step`; empty when it never reported.
    kFailed,    // No values.
  };
  Kind kind = Kind::kComplete;
  std::vector<double> values;
  std::int64_t step = 0;
};

// Suggests what to try next.
//
// Contract: a function of its construction and of the calls of asked() and told(), in their order:
//           suggest() has no effect on later results (it may fill caches), so that a sampler that
//           is told everything again suggests the same. Randomness comes from (seed, number) alone.
//           Every trial is asked() once, in the order of its number, and told() at most once after
//           that; trials that were asked and not yet told are running.
//           suggest() and told() cost what the method's page in docs/ says, independent of how many
//           trials there were.
// Threads:  one at a time.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // The point for trial `number`, the next one to be asked.
  virtual Point suggest(std::int64_t number) = 0;
  // Trial `number` runs with this point, which need not be what was suggested.
  virtual void asked(std::int64_t number, const Point& point) = 0;
  virtual void told(std::int64_t number, const Outcome& outcome) = 0;
};

struct SamplerSetup {
  const model::SearchSpec* search = nullptr;  // Method, objectives, max_trials, population.
  const Space* space = nullptr;               // Both outlive the sampler.
  std::uint64_t seed = 0;
};

// By the specification's method; kAuto decides by space, objectives and budget
// (docs/search/auto.md). Only random, grid and NSGA-II take several objectives.
std::unique_ptr<Sampler> make_sampler(const SamplerSetup& setup);
// Which method kAuto stands for.
model::SearchSpec::Method chosen_method(const model::SearchSpec& search, const Space& space);

}  // namespace runnel::search
