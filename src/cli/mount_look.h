#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::cli {

enum class MountLook : std::uint8_t {
  kServed,
  kDead,    // Nobody serves it any more.
  kSilent,  // It has not answered for kMountAnswersWithin.
};
inline constexpr Duration kMountAnswersWithin = Duration::seconds(2);

// Asks who serves what is mounted in a folder, whatever the kernel remembers of it.
Result<MountLook> look_at_mount(const std::string& folder);

}  // namespace runnel::cli
