#pragma once

#include <map>
#include <string>
#include <vector>

#include "brain/state.h"
#include "model/devices.h"
#include "model/event.h"

namespace runnel::sim {

// What must hold while devices are in quarantine, by events alone: nothing begins with one, who has
// one that is missing is asked to end, and nobody pays for it.
class QuarantineCheck {
 public:
  // Before the events of a decision: what it learns of devices holds for all that it decides.
  void before(const std::vector<model::Event>& events);
  void on(const model::DevicesQuarantined& event);
  std::string on(const model::LaneOpened& event);
  std::string on(const model::LaneExtended& event);
  void on(const model::LaneClosed& event) { lanes_.erase(event.lane); }
  // For an attempt that nobody asked to end.
  std::string on(const model::AttemptEnded& event) const;
  // After the decision.
  std::string check(const brain::State& state) const;

 private:
  using ByNode = std::map<NodeId, model::Devices>;
  static bool touches(const std::vector<model::Place>& places, const ByNode& devices);

  ByNode out_;      // Granted to nobody.
  ByNode missing_;  // The part of out_ that is not there.
  std::map<LaneId, std::vector<model::Place>> lanes_;
};

// How often that was put to the test.
struct QuarantineCounts {
  std::int64_t vanished = 0;  // Devices, each time.
  std::int64_t moved = 0;     // Attempts that ended for it.
  std::int64_t again = 0;     // Devices that were granted again.

  void add(const QuarantineCounts& other) {
    vanished += other.vanished;
    moved += other.moved;
    again += other.again;
  }
};
QuarantineCounts count_quarantine(const std::vector<model::Event>& events);

}  // namespace runnel::sim
