#include "spec/places.h"

#include <gtest/gtest.h>

#include "spec/yaml.h"

namespace runnel::spec {
namespace {

// "2:5 steps.a.run: no", where a fault of the field stands in the text.
std::string placed(const std::string& text, const std::string& field,
                   const std::string& value = "") {
  const YamlNodePtr root = MUST(read_yaml(text, "f"));
  Diagnostics faults("f", text);
  report_at_places(*root, {Error(Errc::kInvalid, "no").with_field(field).with_value(value)},
                   faults);
  const Error error = faults.take().at(0);
  return std::to_string(error.where.line) + ":" + std::to_string(error.where.column) + " " +
         error.field + ": " + error.message;
}

constexpr const char* kSteps =
    "grace: 5s\nretry: {max: 3}\nsteps:\n  a:\n    needs: [b, c]\n    run: [x, '{{y}}']\n"
    "    search: {budget: 1, metric: m}\n  b: {foreach: [1], grace: 1s}\n";

TEST(Places, AreFoundByTheWayDown) {
  EXPECT_EQ(placed(kSteps, "steps.a.search.budget_micros"), "7:22 steps.a.search.budget: no");
  EXPECT_EQ(placed(kSteps, "steps.a.search.objectives[0].metric"),
            "7:33 steps.a.search.metric: no");
  EXPECT_EQ(placed(kSteps, "steps.b.grace"), "8:28 steps.b.grace: no");
  EXPECT_EQ(placed(kSteps, "steps[1].grace"), "8:28 steps.b.grace: no");
  EXPECT_EQ(placed(kSteps, "steps.b.params"), "8:16 steps.b.foreach: no") << "it stands in";
}

TEST(Places, OfWhatIsMissingIsThatOfWhatLacksIt) {
  EXPECT_EQ(placed(kSteps, "steps.b.run"), "8:3 steps.b: no");
  EXPECT_EQ(placed(kSteps, "steps.a.search.pruner.eta"), "7:13 steps.a.search: no");
  EXPECT_EQ(placed(kSteps, "workdir"), "1:1 : no");
  EXPECT_EQ(placed("run: x", "steps.main.max_log"), "1:1 : no");
}

TEST(Places, OfAnElementAreByItsValue) {
  EXPECT_EQ(placed(kSteps, "steps.a.depends_on", "c"), "5:16 steps.a.needs.1: no");
  EXPECT_EQ(placed(kSteps, "steps.a.run", "{{y}}"), "6:15 steps.a.run.1: no");
}

TEST(Places, OfADefaultSayWhoseItIsUnlessItIsEverybodys) {
  EXPECT_EQ(placed(kSteps, "steps.a.grace"), "1:8 grace: no in step 'a'");
  const YamlNodePtr root = MUST(read_yaml(kSteps, "f"));
  Diagnostics faults("f", kSteps);
  std::vector<Error> all;
  for (const char* field : {"steps.a.retry.max", "steps.b.retry.max"}) {
    all.push_back(Error(Errc::kInvalid, "no").with_field(field));
  }
  report_at_places(*root, std::move(all), faults);
  const std::vector<Error> errors = faults.take();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].to_string(), "f:2:14: retry.max: no");
}

TEST(Places, WhatTheReaderHasRefusedIsNotJudgedAgain) {
  const YamlNodePtr root = MUST(read_yaml(kSteps, "f"));
  Diagnostics faults("f", kSteps);
  faults.report({root.get(), "steps.a.search"}, Error(Errc::kInvalid, "read"));
  report_at_places(*root,
                   {Error(Errc::kInvalid, "inside").with_field("steps.a.search.max_trials"),
                    Error(Errc::kInvalid, "beside").with_field("steps.a.searching")},
                   faults);
  const std::vector<Error> errors = faults.take();
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_NE(errors[0].message, "inside");
  EXPECT_NE(errors[1].message, "inside");
}

}  // namespace
}  // namespace runnel::spec
