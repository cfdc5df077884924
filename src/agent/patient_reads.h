#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/suspect_mounts.h"
#include "async/abandonable_call.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"

namespace runnel::agent {

// Runs blocking reads of folders that may never answer: a task may have a dead mount below its own.
//
// Contract: run() answers as `read` does, or with kUnavailable when it has stood still for
//           `silent_max`: then it is left alone, so `read` must own what it touches, and whoever
//           asks for the same folder is refused at once until it has returned. Reads of one folder
//           come one after another. With Turns::kOneOfAll one read of all gets on at a time, as a
//           worker's would, which bounds their memory; one that has stood still for kStandsStill
//           lets the next begin. With Turns::kPerFolder those of a group, whose folders wait for
//           the same, are kGroupMax at a time, so that a group which stands still leaves the
//           others their threads.
// Threads:  the loop's only; each read has a thread of its own.
// Lifetime: nobody waits for run() at destruction. Threads that hang are left alone, and so are all
//           at stop(): who waits for them gets kCancelled.
// Limits:   kAtOnceMax reads, of which all but one stand still, or kPerFolderMax; when all stand
//           still for `silent_max`, or all of a group, every other folder, or of the group, is
//           refused too. kWaitingMax more wait, of
//           each group.
class PatientReads {
 public:
  static constexpr std::size_t kAtOnceMax = 16;
  static constexpr std::size_t kPerFolderMax = 64;
  static constexpr std::size_t kGroupMax = 8;
  static constexpr std::size_t kWaitingMax = 1'024;
  static constexpr Duration kSilentMax = Duration::seconds(4);
  static constexpr Duration kStandsStill = Duration::millis(100);
  static constexpr Duration kLookEvery = Duration::millis(50);
  static constexpr Duration kSilentLook = Duration::seconds(1);  // Of who waits for others' ends.

  enum class Turns : std::uint8_t { kOneOfAll, kPerFolder };

  // `thread` is shown by ps and debuggers; at most 15 bytes.
  PatientReads(async::EventLoop& loop, env::Clock& clock, std::string thread,
               Duration silent_max = kSilentMax, Turns turns = Turns::kOneOfAll)
      : loop_(loop),
        clock_(clock),
        thread_(std::move(thread)),
        silent_max_(silent_max),
        turns_(turns),
        changed_(loop) {}

  // `reach` tells what may be named when it stands still.
  template <typename T>
  Async<T> run(std::string folder, std::function<Result<T>()> read, Reach reach = Reach::kBelow) {
    return run_along<T>(
        std::move(folder), [read = std::move(read)](PathTrail&) { return read(); }, reach);
  }
  // The same of a read that goes on to other places, and tells the trail of each. Without a group a
  // folder is its own.
  template <typename T>
  Async<T> run_along(std::string folder, std::function<Result<T>(PathTrail&)> read, Reach reach,
                     std::string group = "") {
    CO_TRY(co_await wait_for_turn(folder, group));
    const auto outcome = std::make_shared<std::optional<Result<T>>>();
    auto keep_outcome = [outcome, read = std::move(read)](PathTrail& trail) {
      outcome->emplace(read(trail));
    };
    const ReadingPtr reading =
        CO_TRY(begin(folder, std::move(group), reach, std::move(keep_outcome)));
    CO_TRY(co_await wait_for_end(reading, folder));
    co_return std::move(**outcome);
  }

  // Whoever waits, or will, is let go.
  void stop();

 private:
  struct Reading {
    std::optional<async::AbandonableCall> call;
    std::int64_t computed = 0;  // When it was looked at last.
    Duration moved_at;          // When that was more than before.
    bool done = false;
    std::string group;
    Reach reach = Reach::kBelow;
    std::shared_ptr<PathTrail> trail;  // The way to the folder.
  };
  using ReadingPtr = std::shared_ptr<Reading>;

  void look();
  Duration still_for(const Reading& reading) const { return clock_.boot() - reading.moved_at; }
  std::size_t at_once_max() const {
    return turns_ == Turns::kPerFolder ? kPerFolderMax : kAtOnceMax;
  }
  bool may_begin(const std::string& folder, const std::string& group) const;
  // Why nobody need wait for the folder.
  std::optional<Error> refusal(const std::string& folder, const std::string& group) const;
  Error silent(const std::string& folder, const Reading& reading) const;
  Result<ReadingPtr> begin(const std::string& folder, std::string group, Reach reach,
                           std::function<void(PathTrail&)> read);
  Async<void> wait_for_turn(std::string folder, std::string group);
  Async<void> wait_for_end(ReadingPtr reading, std::string folder);

  async::EventLoop& loop_;
  env::Clock& clock_;
  const std::string thread_;
  const Duration silent_max_;
  const Turns turns_;
  std::map<std::string, ReadingPtr> readings_;  // By folder.
  std::map<std::string, std::size_t> waiting_;  // By group.
  bool stopped_ = false;
  async::Notifier changed_;
};

}  // namespace runnel::agent
