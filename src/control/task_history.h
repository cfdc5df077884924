#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/event.h"

namespace runnel::control {

// The attempts of one task, folded from its job's events.
//
// Contract: add() takes the job's events in order and keeps what concerns this task. Of more than
//           kAttemptsShownMax attempts the oldest are dropped, and counted.
// Threads:  none of its own.
// Why:      the state forgets an attempt when it ends; the event log does not.
class TaskHistory {
 public:
  static constexpr std::size_t kAttemptsShownMax = 100;

  explicit TaskHistory(model::TaskRef task) : task_(task) {}

  void add(const model::Event& event, Time at);

  // {"attempts": [...], "dropped"?}: the newest last.
  std::string document() const;

 private:
  struct Attempt {
    AttemptNumber number;
    LaneId lane;
    Time bound_at;
    Time started_at;
    std::vector<model::Place> places;
    std::vector<std::pair<std::string, std::string>> params;
    std::optional<model::Status> stopping;
    std::vector<model::RankExit> exits;       // Ranks that ended before the others.
    std::vector<model::TaskWarned> warnings;  // One for each problem at most.
    std::optional<model::AttemptEnded> end;
  };

  void bind(const model::LaneExtended& event, Time at);
  void begin(const model::LaneExtended& event, const model::LaneTask& bound, Time at);
  Attempt* find(const model::AttemptRef& attempt);

  model::TaskRef task_;
  std::map<LaneId, std::vector<model::Place>> lanes_;  // The step's lanes that are open.
  std::vector<Attempt> attempts_;
  std::int64_t dropped_ = 0;
};

}  // namespace runnel::control
