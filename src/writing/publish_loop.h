#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/check.h"
#include "base/result.h"
#include "base/units.h"
#include "writing/branch.h"
#include "writing/publisher.h"

namespace runnel::writing {

// Publishes what programs change in a branch, while they do, and keeps its log short.
//
// Contract: what was committed is published within kEvery, or, where the store is away, as soon as
//           it answers. A log that has failed begins anew.
// Threads:  the loop's.
// Lifetime: what it is given outlives it; run() has returned, and end() was called, before its
//           destruction.
// Limits:   the log has at most kLogMax bytes: at half of them a publish begins at once, and at all
//           of them whoever writes waits.
class PublishLoop {
 public:
  static constexpr Duration kEvery = Duration::seconds(5);
  static constexpr Bytes kLogMax = Bytes::gibi(4);
  // A log of which less is published goes on in the segments that it has.
  static constexpr Bytes kLogKept = Bytes::mebi(128);

  struct Options {
    Duration every = kEvery;
    Bytes log_max = kLogMax;
    Bytes log_kept = kLogKept;
    // Told why something was not published; it is tried again.
    std::function<void(const Error&)> failed = [](const Error&) {};
  };
  PublishLoop(async::EventLoop& loop, Branch& branch, Publisher& publisher, Options options)
      : loop_(loop),
        branch_(branch),
        publisher_(publisher),
        options_(std::move(options)),
        wanted_(loop),
        published_(loop) {
    CHECK(options_.every > Duration(), "a branch is to be published at once, and always");
    CHECK(options_.log_kept < options_.log_max, "a log that is kept is over its cap");
  }

  // Until the stop, or kConflict: somebody else has published, or this writer was taken for dead.
  // Then it may run again.
  Async<void> run(async::StopToken stop);
  // The log may have failed: it begins anew at once.
  void look_at_log() { wanted_.notify_one(); }
  // Nobody runs it any more: who waits gets kCancelled.
  void end();
  // All that was committed is published when it returns, as the version that it gives; empty: of a
  // volume that has none.
  Async<std::string> publish_now();
  // Waits until the log has room for that many bytes.
  Async<void> room(std::size_t bytes);
  // All that was committed is published when it returns. Not beside run().
  Async<void> publish_all();

 private:
  std::uint64_t log_max() const { return static_cast<std::uint64_t>(options_.log_max.count()); }
  bool is_long() const { return branch_.log_bytes() >= log_max() / 2; }
  Async<void> wait(async::StopToken stop);
  Async<void> publish_once();

  async::EventLoop& loop_;
  Branch& branch_;
  Publisher& publisher_;
  const Options options_;
  async::Notifier wanted_;
  async::Notifier published_;
  std::uint64_t asked_ = 0;     // How often it was,
  std::uint64_t answered_ = 0;  // how many of them the last publish was for,
  Result<void> last_;           // and what became of it.
  bool has_ended_ = false;
};

}  // namespace runnel::writing
