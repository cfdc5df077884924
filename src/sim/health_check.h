#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "model/event.h"
#include "model/spec.h"

namespace runnel::sim {

// What `health` promises, told once more and in other words than the brain's.
//
// Contract: on() answers with what is broken, or nothing. Each problem of an attempt is told of
//           once, with the action of the file, of an attempt that nobody asked to end; an attempt
//           that its policy ended names the rank, is tried again only after a restart, and then
//           pays.
class HealthCheck {
 public:
  std::string on(const model::TaskWarned& event, const model::StepSpec& spec);
  std::string on(const model::AttemptStopping& event);
  // What its policy wants of an attempt that ended because of it.
  std::optional<model::HealthAction> verdict_on(const model::AttemptEnded& ended) const;
  std::string check_end(const model::AttemptEnded& ended, model::HealthAction action,
                        bool budget_left) const;

 private:
  std::set<std::pair<model::AttemptRef, model::HealthProblem>> told_;
  std::map<model::AttemptRef, model::TaskWarned> verdicts_;
  std::map<model::AttemptRef, model::Status> stopping_;
};

}  // namespace runnel::sim
