#include "cli/pinned_volumes.h"

#include <map>
#include <optional>
#include <tuple>

#include "cli/volume_client.h"
#include "home/volume_places.h"

namespace runnel::cli {
namespace {

struct Pin {
  std::string version;
  std::string store;
  bool linked = false;
};
// Volume, version, none where it is written, and store.
using Asked = std::tuple<std::string, std::string, std::string>;

Result<Pin> pin_of(const home::Home& home, const model::VolumeUse& use) {
  const auto given = use.store.empty() ? std::nullopt : std::optional(use.store);
  const object::StoreUrl place = TRY(home::place_of_volume(home, use.volume, given));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  volume::Volume opened = TRY(client->volume(use.volume));
  const std::string version = use.is_written() ? "" : TRY(opened.place_of(use.version)).version;
  return Pin{version, place.to_string(), opened.head().may_have_links()};
}

Error in_step(Error error, const model::StepSpec& step, const model::VolumeUse& use) {
  return std::move(error).with_field("steps." + step.name + ".volumes." + use.name);
}

std::string line_of(const model::VolumeUse& use, const Pin& pin) {
  const std::string what =
      use.is_written() ? use.volume + ", which is written" : use.volume + "@" + pin.version;
  return "runnel: volume " + use.name + " is " + what;
}

}  // namespace

Result<std::vector<std::string>> pin_volumes(const home::Home& home, model::JobSpec& spec) {
  std::map<Asked, Pin> pins;
  std::vector<std::string> lines;
  for (model::StepSpec& step : spec.steps) {
    for (model::VolumeUse& use : step.volumes) {
      const Asked asked{use.volume, use.version, use.store};
      if (!pins.contains(asked)) {
        const Result<Pin> pin = pin_of(home, use);
        if (!pin.ok()) return in_step(pin.error(), step, use);
        lines.push_back(line_of(use, *pin));
        pins.emplace(asked, *pin);
      }
      const Pin& pin = pins.at(asked);
      use.version = pin.version;
      use.store = pin.store;
      use.linked = pin.linked;
    }
  }
  return lines;
}

}  // namespace runnel::cli
