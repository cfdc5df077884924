#pragma once

#include <cstdint>
#include <string>

namespace runnel::agent {

// What shows the files of a volume in the tree of a place (used_mounts.h).
enum class Shown : std::uint8_t { kNothing, kMount, kDeadMount, kCopy };

inline bool is_mount(Shown shown) { return shown == Shown::kMount || shown == Shown::kDeadMount; }

// Looks at it; blocks while a mount there does not answer.
Shown shown_in(const std::string& place);

// Whether this process may mount, by this device.
inline constexpr const char* kFuseDevice = "/dev/fuse";
bool can_mount(const std::string& fuse = kFuseDevice);

}  // namespace runnel::agent
