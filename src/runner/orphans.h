#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/process_tree.h"

namespace runnel::runner {

inline constexpr std::string_view kAttemptKeyName = "RUNNEL_ATTEMPT_KEY";
inline constexpr std::string_view kDetachedKey = "detached";

// Processes that became our children because their parents, processes of attempts, ended: daemons,
// background jobs of a shell, workers of a killed leader.
//
// Contract: look() finds new ones and kills those whose attempt is over; one of a living attempt is
//           left alone. Whose it is, is told by RUNNEL_ATTEMPT_KEY in its environment or by its
//           process group. One that tells neither may belong to any attempt that lived when it was
//           first seen, and is killed when the last of these is over. One in the middle of an exec
//           cannot be asked: it is for at most kSilentMax, at each look. A process with
//           kDetachedKey there is never touched: a daemon of Runnel itself, started by a command
//           inside a task.
// Threads:  the runner's only.
// Why:      a subreaper gets such processes for free, so nothing is left behind without cgroups.
class Orphans {
 public:
  struct Owner {
    std::uint64_t place = 0;
    std::int32_t rank = 0;
    friend auto operator<=>(const Owner&, const Owner&) = default;
  };

  // `key` starts the value of RUNNEL_ATTEMPT_KEY of our attempts: "<key>:<place>:<rank>".
  explicit Orphans(std::string key) : key_(std::move(key)) {}

  struct World {
    std::function<bool(pid_t)> is_leader;  // A rank's own process.
    std::function<bool(Owner)> is_alive;   // That rank's processes may go on.
    std::function<Owner(pid_t)> of_group;  // The rank whose group this is; place 0: none.
    std::uint64_t newest_place = 0;        // The youngest place started so far.
    std::uint64_t oldest_place = 0;        // The oldest that lives; 0: none.
    std::size_t leaders = 0;               // How many leaders are alive or not reaped.
    Duration now;                          // env::real_clock().boot(), never zero.
  };
  void look(const World& world);
  // It was reaped.
  void ended(pid_t pid) { known_.erase(pid); }
  bool empty() const { return known_.empty(); }
  // Some that are known to be of `owner`, or may yet turn out to be.
  bool any_of(Owner owner) const;
  void signal(Owner owner, int signal_number) const;

  std::string key_of(Owner owner) const;
  // The owner that a value of RUNNEL_ATTEMPT_KEY names; place 0 when it is none of ours.
  Owner parse_key(const std::string& value) const;

 private:
  struct Orphan {
    Owner owner;                   // place 0: not known.
    std::uint64_t candidates = 0;  // Not known: the youngest place it may belong to.
    bool detached = false;
    Duration silent_since;  // Could not be asked yet; zero: it was, or never will tell.
  };
  static constexpr Duration kSilentMax = Duration::seconds(1);
  void identify(pid_t pid, const World& world, Orphan& orphan) const;
  static bool is_over(const Orphan& orphan, const World& world);

  std::string key_;
  ChildList children_;
  std::map<pid_t, Orphan> known_;
};

}  // namespace runnel::runner
