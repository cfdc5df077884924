#pragma once

#include <string>

#include "base/result.h"
#include "home/home.h"

namespace runnel::home {

// Which folders of this machine `volume sync` has made as a volume is: there it may remove files
// without being asked twice.
//
// Threads: any; blocks.
// Limits:  the last kSyncedMax are remembered; an older one is asked about again.

inline constexpr std::size_t kSyncedMax = 1'000;

// `folder`: absolute, without links. kCorrupt, with the remedy, for a file that is damaged.
Result<bool> was_synced(const Home& home, const std::string& folder, const std::string& volume);
Result<void> remember_synced(const Home& home, const std::string& folder,
                             const std::string& volume);

}  // namespace runnel::home
