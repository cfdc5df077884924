#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "async/async.h"
#include "library/refusal.h"
#include "volume/snapshot.h"

namespace runnel::library {

inline constexpr int kLinksMax = 40;  // As Linux follows.
inline constexpr std::size_t kNameBytesMax = 255;

enum class LastLink : std::uint8_t { kStay, kFollow };

// Where a path leads to.
struct PathEnd {
  std::optional<Refusal> refusal;
  volume::Snapshot::Found found;  // Unless it is refused.
};

// Follows a path as the kernel would, below the root of the version: through links, "." and "..",
// but never out of it. Errors are those of the index, never of the path.
Async<PathEnd> walk_path(volume::Snapshot& snapshot, std::string path, LastLink last);

}  // namespace runnel::library
