// What a suggestion costs as a study grows: microseconds for one ask and one tell in ten
// dimensions.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "search/sampler.h"

namespace {

using namespace runnel;  // NOLINT: a bench is a leaf.
using model::Parameter;
using model::SearchSpec;

constexpr std::int64_t kMeasured = 300;  // Trials per figure; the median of their times counts.

std::vector<Parameter> ten_dimensions() {
  std::vector<Parameter> params;
  params.reserve(10);
  for (int axis = 0; axis < 6; ++axis) {
    params.push_back({.name = "u" + std::to_string(axis),
                      .kind = Parameter::Kind::kUniform,
                      .low = "-1",
                      .high = "1"});
  }
  params.push_back(
      {.name = "lr", .kind = Parameter::Kind::kLogUniform, .low = "1e-5", .high = "1e-1"});
  params.push_back({.name = "n", .kind = Parameter::Kind::kRange, .low = "1", .high = "64"});
  params.push_back(
      {.name = "m", .kind = Parameter::Kind::kRange, .low = "1", .high = "4096", .log = true});
  params.push_back({.name = "c", .kind = Parameter::Kind::kChoice, .values = {"a", "b", "c"}});
  return params;
}

double bowl(const search::Space& space, const search::Point& point) {
  double sum = 0;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    const bool choice = space.axes()[axis].kind == search::Axis::Kind::kCategorical;
    const double distance = choice ? point[axis] : space.to_unit(axis, point[axis]) - 0.3;
    sum += distance * distance;
  }
  return sum;
}

class Study {
 public:
  Study(SearchSpec::Method method, const search::Space& space) : space_(space) {
    spec_.method = method;
    spec_.objectives.resize(1);
    spec_.max_trials = 1'000'000;
    sampler_ = search::make_sampler({.search = &spec_, .space = &space_, .seed = 1});
  }

  // Random trials, which cost little to make up.
  void grow(std::int64_t to) {
    SearchSpec random;
    random.method = SearchSpec::Method::kRandom;
    const auto source = search::make_sampler({.search = &random, .space = &space_, .seed = 2});
    while (trials_ < to) run(source->suggest(trials_));
  }

  double median_micros() {
    std::vector<double> micros;
    for (std::int64_t trial = 0; trial < kMeasured; ++trial) {
      const auto begin = std::chrono::steady_clock::now();
      run(sampler_->suggest(trials_));
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - begin;
      micros.push_back(took.count());
    }
    std::ranges::sort(micros);
    return micros[micros.size() / 2];
  }

 private:
  void run(const search::Point& point) {
    sampler_->asked(trials_, point);
    sampler_->told(trials_, {.values = {bowl(space_, point)}});
    ++trials_;
  }

  const search::Space& space_;
  SearchSpec spec_;
  std::unique_ptr<search::Sampler> sampler_;
  std::int64_t trials_ = 0;
};

void measure(const char* name, SearchSpec::Method method) {
  const search::Space space(ten_dimensions());
  Study study(method, space);
  std::printf("%-8s", name);
  for (const std::int64_t trials : {100, 1'000, 10'000, 100'000}) {
    study.grow(trials);
    std::printf("  %7lld: %8.1f us", static_cast<long long>(trials), study.median_micros());
  }
  std::printf("\n");
  std::fflush(stdout);  // The next row takes a while.
}

}  // namespace

int main() {
  measure("random", SearchSpec::Method::kRandom);
  measure("tpe", SearchSpec::Method::kTpe);
  measure("cma_es", SearchSpec::Method::kCmaEs);
  measure("nsga2", SearchSpec::Method::kNsga2);
  measure("gp", SearchSpec::Method::kGp);
  return 0;
}
