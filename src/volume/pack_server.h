#pragma once

#include <cstdint>
#include <span>

#include "async/async.h"
#include "async/stop_token.h"
#include "volume/stored_ranges.h"

namespace runnel::volume {

// kAnew: what is kept of a range was not what it was to be.
enum class Freshness : std::uint8_t { kAny, kAnew };
// kExpected: nobody waits for the range yet; who does goes before it.
enum class Urgency : std::uint8_t { kWaitedFor, kExpected };

// The process that fetches and keeps parts of a volume's packs for all that read on a machine.
//
// Threads:  the loop's only.
// Lifetime: outlives who reads by it.
class PackServer {
 public:
  struct Wish {
    Freshness freshness = Freshness::kAny;
    Urgency urgency = Urgency::kWaitedFor;
  };

  PackServer() = default;
  virtual ~PackServer() = default;
  PackServer(const PackServer&) = delete;
  PackServer& operator=(const PackServer&) = delete;

  // Fills `into`, which is as long as the range. False where it is not to be had by the server at
  // the moment: then the store is asked. kUnavailable where that would only take as long again.
  virtual Async<bool> read(ObjectRange range, std::span<char> into, Wish wish,
                           async::StopToken stop) = 0;
};

}  // namespace runnel::volume
