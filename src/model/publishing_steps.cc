#include "model/publishing_steps.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.h"

namespace runnel::model {
namespace {

// Its attempt's preparation does the work; its process only ends.
StepSpec publishing_step(const StepSpec& of, StepIndex position) {
  StepSpec step;
  step.name = of.name + ".publish";
  step.depends_on = {position};
  step.run = Command::words({"true"});
  step.publishes = position;
  std::ranges::copy_if(of.volumes, std::back_inserter(step.volumes),
                       [](const VolumeUse& use) { return use.is_written(); });
  return step;
}

}  // namespace

Result<void> add_publishing_steps(JobSpec& spec) {
  const std::size_t given = spec.steps.size();
  const auto writing = std::ranges::count_if(spec.steps, &StepSpec::writes_volumes);
  if (given + static_cast<std::size_t>(writing) > kStepsMax) {
    return Error(Errc::kInvalid,
                 std::to_string(given) + " steps, of which " + std::to_string(writing) +
                     " write volumes and count twice, are more than " + std::to_string(kStepsMax))
        .with_field("steps")
        .with_hint("make two jobs of it");
  }
  for (std::size_t position = 0; position < given; ++position) {
    CHECK(!spec.steps[position].publishes, "publishing steps are put in twice");
    if (!spec.steps[position].writes_volumes()) continue;
    const StepIndex written(static_cast<std::int32_t>(position));
    const StepIndex published(static_cast<std::int32_t>(spec.steps.size()));
    for (std::size_t other = 0; other < given; ++other) {
      std::ranges::replace(spec.steps[other].depends_on, written, published);
      std::ranges::sort(spec.steps[other].depends_on);
    }
    spec.steps.push_back(publishing_step(spec.steps[position], written));
  }
  return {};
}

}  // namespace runnel::model
