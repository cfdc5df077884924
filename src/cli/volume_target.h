#pragma once

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

}  // namespace runnel::cli
