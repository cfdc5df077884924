#include "model/publishing_steps.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

// All that a step depends on.
std::set<StepIndex> steps_before(const JobSpec& spec, StepIndex step) {
  std::set<StepIndex> before;
  std::vector<StepIndex> open{step};
  while (!open.empty()) {
    const StepIndex next = open.back();
    open.pop_back();
    for (const StepIndex each : spec.steps.at(static_cast<std::size_t>(next.value())).depends_on) {
      if (before.insert(each).second) open.push_back(each);
    }
  }
  return before;
}

bool writes(const StepSpec& step, const VolumeUse& use) {
  return step.writes_volumes() && std::ranges::any_of(step.volumes, [&use](const VolumeUse& each) {
           return each.is_written() && each.volume == use.volume && each.store == use.store;
         });
}

}  // namespace

Result<std::optional<StepIndex>> writer_before(const JobSpec& spec, StepIndex reader,
                                               const VolumeUse& use) {
  if (use.is_written() || use.version != "latest") return std::optional<StepIndex>();
  std::set<StepIndex> last = steps_before(spec, reader);
  std::erase_if(last, [&](StepIndex step) {
    return !writes(spec.steps.at(static_cast<std::size_t>(step.value())), use);
  });
  const std::set<StepIndex> all = last;
  for (const StepIndex step : all) {
    for (const StepIndex before : steps_before(spec, step)) last.erase(before);
  }
  if (last.empty()) return std::optional<StepIndex>();
  if (last.size() == 1) return std::optional(*last.begin());
  const auto name = [&](StepIndex step) {
    return "'" + spec.steps.at(static_cast<std::size_t>(step.value())).name + "'";
  };
  return Error(Errc::kInvalid, "steps " + name(*last.begin()) + " and " + name(*last.rbegin()) +
                                   " both write volume " + use.volume +
                                   ", and nothing says whose version is read")
      .with_hint("make one of the two depend on the other, or name a version");
}

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
