#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/agenda.h"
#include "sim/control.h"
#include "sim/history.h"
#include "sim/scenario.h"

namespace runnel::sim {

// The users: each wish is asked for until it is answered, with the same key, whoever dies in
// between.
class Clients {
 public:
  struct Wiring {
    Agenda* agenda = nullptr;
    SimControl* control = nullptr;
    Seen* seen = nullptr;
  };

  Clients(const Scenario& scenario, Wiring wiring);

  void start();
  // Every client that waits for an answer dies; its successor asks again.
  void crash();
  bool done() const;

 private:
  struct State {
    bool answered = false;
    int asked = 0;
    std::int64_t generation = 0;  // The client's: answers to a dead one are heard by nobody.
  };

  bool has_given_up(std::size_t wish) const;
  void ask(std::size_t wish);
  void ask_again_later(std::size_t wish);
  void submit(std::size_t wish);
  void request(std::size_t wish);

  const Scenario& scenario_;
  Agenda& agenda_;
  SimControl& control_;
  Seen& seen_;
  std::vector<State> states_;
  std::vector<std::optional<JobId>> ids_;  // By job of the scenario, once answered.
};

}  // namespace runnel::sim
