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
  if (text.find("://") != std::string::npos) {
    return Error(Errc::kInvalid, "'" + text + "' is a URL, and a volume has a name")
        .with_value(text)
        .with_hint("write NAME --store " + text);
  }
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

Result<void> refuse_version(const VolumeTarget& target, const std::string& what) {
  if (target.version.empty()) return {};
  return Error(Errc::kInvalid, what + " makes a new version, and takes none")
      .with_value(target.name + "@" + target.version)
      .with_hint("leave out @" + target.version);
}

Result<std::string> parse_volume_name(const std::string& text) {
  VolumeTarget target = TRY(parse_volume_target(text));
  if (target.name == text) return std::move(target.name);
  return Error(Errc::kInvalid, "'" + text + "' is more than the name of a volume")
      .with_value(text)
      .with_hint("write " + target.name);
}

Result<CopyEnd> parse_copy_end(const std::string& text) {
  if (text.find("://") != std::string::npos) {
    return Error(Errc::kInvalid, "'" + text + "' is a URL, and neither a path nor of a volume")
        .with_value(text)
        .with_hint("plain objects come in by runnel volume import, and go out by export");
  }
  const std::size_t colon = text.find(':');
  const std::size_t slash = text.find('/');
  const bool is_local = colon == std::string::npos || slash < colon;
  if (is_local) return CopyEnd{std::nullopt, text};
  Result<VolumeTarget> target = parse_volume_target(text);
  if (target.ok()) return CopyEnd{*std::move(target), ""};
  Error error = target.error();
  error.hint = "write NAME:/PATH; a file of this machine that is called so is ./" + text;
  return error;
}

}  // namespace runnel::cli
