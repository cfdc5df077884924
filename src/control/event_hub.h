#pragma once

#include <vector>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "control/event_ring.h"
#include "control/log_writer.h"

namespace runnel::control {

// Where watchers read the history and wait for more of it.
//
// Contract: read() yields durable events only, from memory when they are recent, else from the log,
//           of which it looks at kBatchesPerRead batches at most: `through` says how far. kGone for
//           a cursor whose events are no longer kept, or that is newer than the log.
// Threads:  loop only.
// Lifetime: the log writer outlives it; nobody waits at destruction.
class EventHub {
 public:
  static constexpr std::int64_t kBatchesPerRead = 2'000;

  EventHub(async::EventLoop& loop, LogWriter& writer);

  void publish(const std::vector<DurableBatch>& batches);
  EventSeq last() const { return ring_.last(); }

  Async<EventPage> read(EventQuery query);
  // The oldest event that is kept, or that will be the first.
  Async<EventSeq> oldest();
  // Returns once there are events after `after`, or when `patience` is over.
  Async<async::Wake> changed(EventSeq after, Duration patience, async::StopToken stop);

 private:
  void cut(EventPage& page) const;

  LogWriter& writer_;
  EventRing ring_;
  async::Notifier grown_;
};

// Events of the log itself. Blocks.
Result<EventPage> read_events(store::LogReader& log, const EventQuery& query,
                              std::int64_t batches_max);

}  // namespace runnel::control
