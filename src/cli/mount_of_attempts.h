#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/used_mounts.h"
#include "base/units.h"
#include "home/home.h"
#include "volume_server/mount_request.h"

namespace runnel::cli {

// Ends the mount that attempts share once none of them has used it for kLinger: so long the next
// step finds warm what the last one has read. One that has met damage ends at once, since the next
// attempt may begin after a repair. What readers could not have is noted beside the mount.
//
// Threads: the only one of the process that holds the mount.
class MountOfAttempts {
 public:
  static constexpr Duration kLinger = Duration::seconds(30);

  // `place`: as UsedMounts::place_of().
  MountOfAttempts(const home::Home& home, std::string place);

  // To be called each second or so. Waits for others who change its uses.
  void look();
  void note(const volume_server::MountNews& news);
  // The mount is no more: what is left of its place goes, unless it is about to be used again, and
  // whoever uses it is told whether all that was written is published.
  enum class Ends : std::uint8_t { kAsItIs, kPublished };
  void end(Ends how);

 private:
  const agent::UsedMounts mounts_;
  const std::string place_;
  const Result<env::FileLock> held_;
  std::optional<Duration> unused_since_;
  bool is_damage_seen_ = false;  // By a look that found it unused, and tried to end it at once.
};

}  // namespace runnel::cli
