#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace runnel::fuse {

// What a mount that is written to answers an ioctl(2) on its folder with, which asks it to publish.
struct PublishAnswer {
  static constexpr std::uint32_t kPublished = 1;
  static constexpr std::uint32_t kFailed = 2;
  static constexpr std::uint32_t kConflict = 3;  // Somebody else writes the volume by now.

  std::uint32_t kind = 0;
  std::array<char, 1'020> text{};  // The version, or why not; ends with a zero.
};
extern const unsigned long kPublishCall;

PublishAnswer answer_of(const Result<std::string>& published);

// Asks the mount in a folder to publish what was closed or synced in it: the version, empty where
// there is none. Blocks for as long as that takes. kConflict where somebody else writes the volume
// by now, so that nothing is published any more; kUnsupported in a folder of another kind, also
// of a mount that is read alone.
Result<std::string> publish_mount(const std::string& folder);

}  // namespace runnel::fuse
