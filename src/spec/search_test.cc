#include "spec/search.h"

#include <utility>

#include <gtest/gtest.h>

#include "spec/job_file.h"

namespace runnel::spec {
namespace {

using model::PrunerSpec;
using model::SearchSpec;
using Method = SearchSpec::Method;

Result<model::JobSpec> parse_searching(const std::string& search, const std::string& more = "") {
  return parse_job_file(
      "params: {x: {uniform: [0, 1]}, kind: [a, b]}\nrun: a\n" + more + "search: " + search + "\n",
      {});
}

SearchSpec searched(const std::string& search, const std::string& more = "") {
  return *MUST(parse_searching(search, more)).steps.at(0).search;
}

// The field of the first fault; "" when there is none.
std::string search_fault(const std::string& search, const std::string& more = "") {
  const Result<model::JobSpec> job = parse_searching(search, more);
  return job.ok() ? "" : job.error().field;
}

constexpr const char* kKeepsCheckpoints = "checkpoint: {dir: ckpt}\n";

TEST(Search, AShortOneHasSensibleDefaults) {
  const SearchSpec search = searched("{metric: loss, mode: min, max_trials: 9}");
  EXPECT_EQ(search.method, Method::kAuto);
  EXPECT_EQ(search.objectives, (std::vector<model::Objective>{{"loss", false}}));
  EXPECT_EQ(search.max_trials, 9);
  EXPECT_TRUE(search.max_duration.is_zero());
  EXPECT_EQ(search.budget, Money());
  EXPECT_FALSE(search.pruner || search.population);
}

// There the method becomes a grid, which tries each point once.
TEST(Search, ByItselfTriesNoMoreThanThereIs) {
  const auto trials = [](const std::string& params, const std::string& method) {
    Result<model::JobSpec> job =
        parse_job_file("params: " + params + "\nrun: a\nsearch: {metric: m, mode: min, " +
                           "max_trials: 7, method: " + method + "}\n",
                       {});
    return MUST(std::move(job)).steps.at(0).search->max_trials;
  };
  EXPECT_EQ(trials("{x: [1, 2, 3]}", "auto"), 3);
  EXPECT_EQ(trials("{x: [1, 2, 3]}", "grid"), 3);
  EXPECT_EQ(trials("{x: [1, 2, 3], y: {range: [1, 3]}}", "auto"), 7);
  EXPECT_EQ(trials("{x: [1, 2, 3], y: {uniform: [1, 3]}}", "auto"), 7);
  EXPECT_EQ(trials("{x: [1, 2, 3]}", "random"), 7);
}

TEST(Search, EveryMethodHasItsWord) {
  const std::vector<std::pair<std::string, Method>> methods = {
      {"auto", Method::kAuto}, {"random", Method::kRandom}, {"tpe", Method::kTpe},
      {"gp", Method::kGp},     {"cma-es", Method::kCmaEs},  {"nsga2", Method::kNsga2},
      {"pbt", Method::kPbt}};
  for (const auto& [word, method] : methods) {
    EXPECT_EQ(
        searched("{metric: m, mode: max, max_trials: 4, method: " + word + "}", kKeepsCheckpoints)
            .method,
        method)
        << word;
  }
}

TEST(Search, LimitsAreKeptExactly) {
  const SearchSpec search =
      searched("{metric: m, mode: max, max_trials: 4, max_duration: 90m, budget: 2.5}");
  EXPECT_TRUE(search.objectives[0].maximize);
  EXPECT_EQ(search.max_duration, Duration::minutes(90));
  EXPECT_EQ(search.budget, Money::micros(2'500'000));
}

TEST(Search, APrunerIsAWordOrAMapping) {
  EXPECT_EQ(searched("{metric: m, mode: min, max_trials: 4, pruner: median}").pruner->kind,
            PrunerSpec::Kind::kMedian);
  const SearchSpec search = searched(
      "{metric: m, mode: min, max_trials: 4, pruner: {method: hyperband, max_step: 27, eta: 3}}");
  EXPECT_EQ(search.pruner,
            (PrunerSpec{.kind = PrunerSpec::Kind::kHyperband, .max_step = 27, .eta = 3}));
}

TEST(Search, APopulationKeepsCheckpoints) {
  const std::string all =
      "{metric: m, mode: min, max_trials: 8, method: pbt, "
      "population: {every: 5, max_step: 50, quantile_percent: 20, resample_percent: 0}}";
  EXPECT_EQ(searched(all, kKeepsCheckpoints).population,
            (model::PopulationSpec{
                .every = 5, .max_step = 50, .quantile_percent = 20, .resample_percent = 0}));
  EXPECT_EQ(
      searched("{metric: m, mode: min, max_trials: 8, method: pbt}", kKeepsCheckpoints).population,
      model::PopulationSpec());
  EXPECT_EQ(search_fault(all), "search.population");
  EXPECT_EQ(
      search_fault("{metric: m, mode: min, max_trials: 8, population: {}}", kKeepsCheckpoints),
      "search.population");
  EXPECT_EQ(
      search_fault("{metric: m, mode: min, max_trials: 8, method: pbt, population: {every: 0}}",
                   kKeepsCheckpoints),
      "search.population.every");
}

TEST(Search, StartPointsMayLeaveParametersOut) {
  const SearchSpec search =
      searched("{metric: m, mode: min, max_trials: 4, start: [{x: 0.5}, {x: 0.1, kind: b}]}");
  ASSERT_EQ(search.start.size(), 2U);
  EXPECT_EQ(search.start[0].size(), 1U);
  EXPECT_EQ(search_fault("{metric: m, mode: min, max_trials: 4, start: [{y: 1}]}"),
            "search.start.0.y");
}

TEST(Search, EarlierTrialsHaveAValueForEachObjective) {
  const SearchSpec search = searched(
      "{objectives: {a: min, b: max}, max_trials: 4, "
      "from: [{params: {x: 0.5, kind: a}, values: {b: 2, a: 1}}]}");
  ASSERT_EQ(search.from.size(), 1U);
  EXPECT_EQ(search.from[0].values, (std::vector<std::string>{"1", "2"}));
  EXPECT_NE(search_fault("{objectives: {a: min, b: max}, max_trials: 4, "
                         "from: [{params: {x: 0.5, kind: a}, values: {a: 1}}]}"),
            "");
}

TEST(Search, SeveralObjectivesAreNotForEveryMethod) {
  EXPECT_EQ(search_fault("{objectives: {a: min, b: max}, max_trials: 4, method: tpe}"),
            "search.method");
  EXPECT_EQ(search_fault("{objectives: {a: min}, metric: a, mode: min, max_trials: 4}"),
            "search.metric");
}

}  // namespace
}  // namespace runnel::spec
