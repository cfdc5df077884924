#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "brain/state.h"
#include "model/event.h"
#include "model/input.h"
#include "sim/health_check.h"
#include "sim/quarantine_check.h"
#include "sim/trial_check.h"

namespace runnel::sim {

// Facts that hold after every decision, whatever went wrong before it.
//
// Contract: after() gets an input, the events of its decision and the state they led to; it returns
//           "" or the first broken fact. It keeps its own small record of what it saw, so a state
//           that lies about its past is caught. restart() is called when a control came back with
//           what was durable.
class Invariants {
 public:
  std::string after(const model::Input& input, const std::vector<model::Event>& events,
                    const brain::State& state);
  void restart(const std::vector<model::Event>& durable);

 private:
  std::string see(const model::Event& event);
  std::string on(const model::JobSubmitted& event);
  std::string on(const model::StepChanged& event);
  std::string on(const model::TasksChanged& event);
  std::string on(const model::LaneOpened& event);
  std::string on(const model::LaneExtended& event);
  std::string on(const model::LaneClosed& event);
  std::string on(const model::AttemptRunning& event);
  std::string on(const model::TaskWarned& event);
  std::string on(const model::AttemptStopping& event);
  std::string on(const model::AttemptEnded& event);
  std::string on(const model::SearchStopped& event);
  std::string on(const model::NodeJoined& event);
  std::string on(const model::NodeLeft& event);
  std::string on(const model::NodeLeaving& event);
  std::string on(const model::DevicesQuarantined& event);
  std::string on(const model::JobHalted& event);
  std::string on(const model::TrialAsked& event);
  std::string on(const model::TrialReported& event);
  std::string on(const model::TrialParked& event);
  std::string on(const model::TrialPromoted& event) { return trials_.on(event); }
  std::string on(const model::TrialMoved& event);
  std::string on(const model::TrialTold& event);
  // Others are followed elsewhere (jobs that change, leave and come back in history.h, leases of
  // trials in overdue.h, crashes in poison_check.h, strangers' devices in runner.h), or by the ends
  // of their attempts.
  template <typename Other>
  std::string on(const Other&) {
    return "";
  }

  std::string check_start(LaneId lane, const JobId& job, StepIndex step) const;
  std::string check_stop(const model::AttemptEnded& ended) const;
  std::string check_retry(const model::AttemptEnded& ended) const;
  std::string move_task(const model::TaskRef& task, model::Status to, bool reopened);

  std::map<model::TaskRef, model::Status> tasks_;
  std::map<model::TaskRef, std::int32_t> charged_;
  std::map<std::pair<JobId, StepIndex>, model::Status> steps_;
  std::map<JobId, std::shared_ptr<const model::JobSpec>> specs_;
  std::map<model::AttemptRef, model::Status> stopping_;
  std::map<LaneId, std::vector<NodeId>> lanes_;
  std::set<NodeId> up_;
  TrialCheck trials_;
  HealthCheck health_;
  QuarantineCheck quarantine_;
};

// Capacity, whole gangs, `parallel`, counts: of a state alone.
std::string check_state(const brain::State& state);

}  // namespace runnel::sim
