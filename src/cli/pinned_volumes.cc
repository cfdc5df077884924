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
using Asked = std::tuple<std::string, std::string, std::string>;  // Volume, version and store.

Result<Pin> pin_of(const home::Home& home, const model::VolumeUse& use) {
  const auto given = use.store.empty() ? std::nullopt : std::optional(use.store);
  const object::StoreUrl place = TRY(home::place_of_volume(home, use.volume, given));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  volume::Volume opened = TRY(client->volume(use.volume));
  return Pin{TRY(opened.place_of(use.version)).version, place.to_string(),
             opened.head().may_have_links()};
}

Error in_step(Error error, const model::StepSpec& step, const model::VolumeUse& use) {
  return std::move(error).with_field("steps." + step.name + ".volumes." + use.name);
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
        lines.push_back("runnel: volume " + use.name + " is " + use.volume + "@" + pin->version);
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
