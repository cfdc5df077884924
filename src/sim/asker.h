#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/agenda.h"
#include "model/input.h"
#include "sim/control.h"
#include "sim/dice.h"
#include "sim/history.h"
#include "sim/scenario.h"
#include "sim/truth.h"

namespace runnel::sim {

// Those who run trials outside: each asks, reports and tells, says the same again until it is
// answered, and may die in between, so that nobody hears of its trial any more.
class Askers {
 public:
  struct Wiring {
    Agenda* agenda = nullptr;
    SimControl* control = nullptr;
    Seen* seen = nullptr;
    Truth* truth = nullptr;
  };

  Askers(const Scenario& scenario, Wiring wiring);

  // None when no step of the scenario is run outside.
  void start();
  // All of them die, and others take their places.
  void crash();

 private:
  struct Asker {
    std::optional<model::AttemptRef> has;
    std::optional<model::TrialCall> telling;  // Said again until it is answered.
    std::int64_t at = 0;                      // The last step of its training.
    std::int64_t life = 0;                    // Answers to a dead one are heard by nobody.
    std::int64_t asked = 0;                   // Its word changes with each trial that it got.
  };

  static Asker successor(const Asker& before);
  void live(std::size_t who);
  void ask(std::size_t who);
  void report(std::size_t who);
  void tell(std::size_t who);
  void decide_end(Asker& asker);
  model::TrialCall call_of(const Asker& asker, model::TrialCall::Verb verb);
  std::vector<std::string> values_for(const model::AttemptRef& attempt);

  Agenda& agenda_;
  SimControl& control_;
  Seen& seen_;
  Truth& truth_;
  Dice dice_;
  std::vector<Asker> askers_;
};

}  // namespace runnel::sim
