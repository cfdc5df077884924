#include "cli/pinned_volumes.h"

#include <map>
#include <optional>
#include <tuple>

#include "cli/volume_client.h"
#include "home/volume_places.h"
#include "model/publishing_steps.h"

namespace runnel::cli {
namespace {

struct Pin {
  std::string version;
  bool linked = false;
};
// Volume, version, none where it is written, and store.
using Asked = std::tuple<std::string, std::string, std::string>;

Result<Pin> pin_of(const home::Home& home, const model::VolumeUse& use) {
  const object::StoreUrl place = TRY(home::place_of_volume(home, use.volume, use.store));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  volume::Volume opened = TRY(client->volume(use.volume));
  const std::string version = use.is_written() ? "" : TRY(opened.place_of(use.version)).version;
  return Pin{version, opened.head().may_have_links()};
}

Error in_step(Error error, const model::StepSpec& step, const model::VolumeUse& use) {
  return std::move(error).with_field("steps." + step.name + ".volumes." + use.name);
}

std::string line_of(const model::VolumeUse& use, const Pin& pin) {
  const std::string what =
      use.is_written() ? use.volume + ", which is written" : use.volume + "@" + pin.version;
  return "runnel: volume " + use.name + " is " + what;
}

std::string line_of(const model::VolumeUse& use, const model::JobSpec& spec, StepIndex writer) {
  return "runnel: volume " + use.name + " is " + use.volume + " as step '" +
         spec.steps.at(static_cast<std::size_t>(writer.value())).name + "' leaves it";
}

// By their stores it is known which volumes are the same.
Result<void> place_volumes(const home::Home& home, model::JobSpec& spec) {
  for (model::StepSpec& step : spec.steps) {
    for (model::VolumeUse& use : step.volumes) {
      const auto given = use.store.empty() ? std::nullopt : std::optional(use.store);
      const Result<object::StoreUrl> place = home::place_of_volume(home, use.volume, given);
      if (!place.ok()) return in_step(place.error(), step, use);
      use.store = place->to_string();
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> pin_volumes(const home::Home& home, model::JobSpec& spec) {
  std::map<Asked, Pin> pins;
  std::vector<std::string> lines;
  TRY(place_volumes(home, spec));
  for (std::size_t index = 0; index < spec.steps.size(); ++index) {
    model::StepSpec& step = spec.steps[index];
    for (model::VolumeUse& use : step.volumes) {
      const auto writer =
          model::writer_before(spec, StepIndex(static_cast<std::int32_t>(index)), use);
      if (!writer.ok()) return in_step(writer.error(), step, use);
      if (*writer) {
        lines.push_back(line_of(use, spec, **writer));
        continue;
      }
      const Asked asked{use.volume, use.version, use.store};
      if (!pins.contains(asked)) {
        const Result<Pin> pin = pin_of(home, use);
        if (!pin.ok()) return in_step(pin.error(), step, use);
        lines.push_back(line_of(use, *pin));
        pins.emplace(asked, *pin);
      }
      const Pin& pin = pins.at(asked);
      use.version = pin.version;
      use.linked = pin.linked;
    }
  }
  return lines;
}

}  // namespace runnel::cli
