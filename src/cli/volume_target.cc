#include "cli/volume_target.h"

#include "volume/volume.h"

namespace runnel::cli {
namespace {

Error no_target(const std::string& text, const std::string& why) {
  return Error(Errc::kInvalid, "'" + text + "' " + why)
      .with_value(text)
      .with_hint("write NAME, NAME@VERSION or NAME@VERSION:/PATH");
}

}  // namespace

Result<VolumeTarget> parse_volume_target(const std::string& text) {
  VolumeTarget target;
  const std::size_t colon = text.find(':');
  const std::string volume = text.substr(0, colon);
  if (colon != std::string::npos) {
    target.path = text.substr(colon + 1);
    if (!target.path.starts_with('/')) return no_target(text, "has a path without '/' after ':'");
    target.path.erase(0, target.path.find_first_not_of('/'));
  }
  const std::size_t at = volume.find('@');
  target.name = volume.substr(0, at);
  if (at != std::string::npos) {
    target.version = volume.substr(at + 1);
    if (target.version.empty()) return no_target(text, "has no version after '@'");
  }
  TRY(volume::check_volume_name(target.name));
  return target;
}

}  // namespace runnel::cli
