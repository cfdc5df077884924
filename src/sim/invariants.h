#pragma once

#include <map>
#include <string>
#include <vector>

#include "brain/state.h"
#include "model/event.h"

namespace runnel::sim {

// Facts that hold after every decision, whatever went wrong before it.
//
// Contract: after() gets the events of one decision and the state they led to; it returns "" or the
//           first broken fact. It keeps its own small record of statuses, so a state that lies
//           about its past is caught. restart() is called when a control came back with what was
//           durable.
class Invariants {
 public:
  std::string after(const std::vector<model::Event>& events, const brain::State& state);
  void restart(const std::vector<model::Event>& durable);

 private:
  std::string see(const model::Event& event);
  std::string move_task(const model::TaskRef& task, model::Status to, bool reopened);
  std::string move_range(const model::TasksChanged& change);
  std::string end_attempt(const model::AttemptEnded& ended);

  std::map<model::TaskRef, model::Status> tasks_;
  std::map<model::TaskRef, std::int32_t> charged_;
  std::map<JobId, std::shared_ptr<const model::JobSpec>> specs_;
};

// Capacity, whole gangs, `parallel`, counts: of a state alone.
std::string check_state(const brain::State& state);

// Time must not pass unnoticed: what was due `slack` ago has been looked at, so that a Wake at
// `now` would neither start such a retry nor withdraw tasks from such a lane.
std::string check_nothing_overdue(const brain::State& state, Time now, Duration slack);

}  // namespace runnel::sim
