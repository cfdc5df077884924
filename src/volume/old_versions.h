#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "volume/session.h"
#include "volume/volume.h"

namespace runnel::volume {

// A version that was replaced longer ago than versions are kept.
struct OldVersion {
  std::string version;
  Time time;
  std::int64_t files = 0;
  std::vector<SessionRecord> holders;  // Who reads or writes it.
};

// Those of the volume's head that a later one has replaced for longer than `keep`, but for those
// with a tag: what was the newest at any time since stays. `sessions`: of those who live.
Async<std::vector<OldVersion>> old_versions(Volume& volume, Time now, Duration keep,
                                            std::vector<SessionRecord> sessions);

// The head without these versions, but for those that are the newest or have a tag by now.
Head without(Head head, const std::set<std::string>& versions);

}  // namespace runnel::volume
