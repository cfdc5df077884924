#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace runnel::cli {

// NAME[@VERSION][:/PATH] of the command line.
struct VolumeTarget {
  std::string name;
  std::string version;  // Empty: not said.
  std::string path;     // Below the root, without '/' at its beginning; empty: the root.

  std::string version_or_latest() const { return version.empty() ? "latest" : version; }
};

// kInvalid for what is not of that form.
Result<VolumeTarget> parse_volume_target(const std::string& text);

// A name alone.
Result<std::string> parse_volume_name(const std::string& text);

// kInvalid when it says a version: `what` makes a new one.
Result<void> refuse_version(const VolumeTarget& target, const std::string& what);

// One side of cp and sync: NAME[@VERSION]:/PATH, or a path of this machine, which is written
// ./A:/B where it looks like the other.
struct CopyEnd {
  std::optional<VolumeTarget> target;
  std::string local;  // Without a target.
};
Result<CopyEnd> parse_copy_end(const std::string& text);

}  // namespace runnel::cli
