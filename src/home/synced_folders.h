#pragma once

#include <string>

#include "base/result.h"
#include "home/home.h"

namespace runnel::home {

// Which folders of this machine `volume sync` has made as a volume is: there it may remove files
// without being asked twice.
//
// Contract: a folder is what was last synced with it. Another volume of the same name, another path
//           inside it, and another folder at the same place are none that were synced; nor is a
//           folder whose device has another number than before, as some have after a reboot.
// Threads:  any; blocks.
// Limits:   the last kSyncedMax are remembered; an older one is asked about again.

inline constexpr std::size_t kSyncedMax = 1'000;

struct SyncSource {
  std::string uuid;  // Of the volume: a name may be another one's by now.
  std::string path;  // Inside the volume; empty: its root.
};

// `folder`: absolute, without links, and there. kCorrupt, with the remedy, for a list that is
// damaged.
Result<bool> was_synced(const Home& home, const std::string& folder, const SyncSource& source);
Result<void> remember_synced(const Home& home, const std::string& folder, const SyncSource& source);

}  // namespace runnel::home
