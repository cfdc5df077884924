#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "base/units.h"
#include "volume/old_versions.h"
#include "volume/volume.h"

namespace runnel::volume {

// Called when the store is full, to make the room that is held for that. None, or false: there is
// no such room.
using MakeRoom = std::function<Async<bool>()>;

struct GcOptions {
  // Versions without a tag that were replaced longer ago leave the head, but for those that
  // somebody reads or writes; none: none does.
  std::optional<Duration> keep;
  // Whether sessions that may be dead are waited for, Session::kTtl long; else they count as alive.
  bool wait = true;
  // Who will read a version, as if they had sessions with it: it stays in the head.
  std::vector<SessionRecord> awaited;
  bool dry_run = false;  // Nothing is changed; who may be dead on another machine counts as alive.
  // Then nothing is packed anew, and the first list of garbage is short.
  MakeRoom make_room;
};

// What was done, or, of a dry run, would be. Pages of the index that compaction replaces are known
// only afterwards: a dry run counts at least what would go.
struct GcResult {
  std::vector<OldVersion> dropped;  // Versions that left the head.
  std::vector<OldVersion> held;     // Replaced as long ago, and in the head for their holders.
  std::int64_t sessions = 0;        // Of owners that were dead.
  std::int64_t objects = 0;         // That were deleted.
  std::int64_t bytes = 0;           // In them.
  std::int64_t rewritten = 0;       // Bytes of living chunks that were packed anew.
  std::string damage;               // Why none were; empty: none of them is damaged.
};

// Deletes the objects of a volume that no version in its head reaches, no session pins, and no
// living session has put. docs/design/volume_gc.md has the protocol and its proof.
//
// Contract: may be killed at any moment, run at the same time as puts, reads and itself. kCorrupt
//           or kNotFound when a version of the head is damaged: then nothing is deleted.
Async<GcResult> collect_garbage(async::EventLoop& loop, env::Clock& clock, Volume& volume,
                                GcOptions options, async::StopToken stop);

}  // namespace runnel::volume
