#pragma once

#include <optional>
#include <string>

#include "agent/used_mounts.h"
#include "base/units.h"
#include "home/home.h"

namespace runnel::cli {

// Ends the mount that attempts share once none of them has used it for kLinger: so long the next
// step finds warm what the last one has read.
//
// Threads: the only one of the process that holds the mount.
class MountOfAttempts {
 public:
  static constexpr Duration kLinger = Duration::seconds(30);

  // `place`: as UsedMounts::place_of().
  MountOfAttempts(const home::Home& home, std::string place)
      : mounts_(home.root),
        place_(std::move(place)),
        held_(agent::UsedMounts::lock_holding(place_)) {}

  // To be called each second or so. Waits for others who change its uses.
  void look();
  // The mount is no more: what is left of its place goes, unless it is about to be used again.
  void end();

 private:
  const agent::UsedMounts mounts_;
  const std::string place_;
  const Result<env::FileLock> held_;
  std::optional<Duration> unused_since_;
};

}  // namespace runnel::cli
