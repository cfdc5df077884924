#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cli/earlier_study.h"
#include "json/value.h"
#include "model/check_spec.h"
#include "model/spec.h"

namespace {

runnel::model::StepSpec searching() {
  using Kind = runnel::model::Parameter::Kind;
  runnel::model::StepSpec step;
  step.name = "tune";
  step.run = runnel::model::ExternalTrials();
  runnel::model::Parameter rate;
  rate.name = "x";
  rate.kind = Kind::kLogUniform;
  rate.low = "1e-9";
  rate.high = "1e9";
  runnel::model::Parameter kind;
  kind.name = "k";
  kind.kind = Kind::kChoice;
  kind.values = {"a", "b"};
  step.params = {rate, kind};
  step.search.emplace();
  step.search->objectives = {{"v", false}};
  step.search->max_trials = step.task_count = 1;
  return step;
}

}  // namespace

// Whatever stands in a file that is said to be an exported study: it is refused, or each trial of
// it is taken in a form that the specification allows, or passed over.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const runnel::model::StepSpec kStep = searching();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto document = runnel::json::parse(input);
  if (!document.ok()) return 0;
  const auto study = runnel::cli::earlier_study(*document, kStep);
  if (!study.ok()) return 0;
  runnel::model::StepSpec step = kStep;
  step.search->from = study->trials;
  runnel::model::JobSpec job;
  job.name = "fuzz";
  job.workdir = "/";
  job.steps = {step};
  CHECK(runnel::model::check_spec(job).empty(), "what was taken can be submitted");
  const auto count = document->find("trials")->as_list().size();
  CHECK(study->trials.size() + static_cast<std::size_t>(study->passed_over) == count,
        "each trial is taken or passed over");
  return 0;
}
