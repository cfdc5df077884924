#pragma once

#include <optional>

#include "async/async.h"
#include "base/units.h"
#include "control/api/host.h"
#include "control/api/silence.h"
#include "control/controller.h"

namespace runnel::control {

// What is known of the home's disk: whether it answers, and whether it has room.
//
// Threads:  the loop's only.
// Lifetime: controller and host outlive it.
class HomeDisk {
 public:
  HomeDisk(const Controller& controller, const ApiHost& host, Duration patience)
      : controller_(controller), host_(host), patience_(patience) {}

  Duration patience() const { return patience_; }
  // Once it has said nothing for `patience`.
  std::optional<Silence> silence() const;

  struct State {
    std::optional<Silence> full;
    std::optional<Silence> silent;
  };
  // Asks the disk, unless it is known to be silent.
  Async<State> look() const;

 private:
  const Controller& controller_;
  const ApiHost& host_;
  const Duration patience_;
};

}  // namespace runnel::control
