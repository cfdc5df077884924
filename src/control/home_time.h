#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "env/clock.h"

namespace runnel::control {

// The time that a home's decisions go by while it has work: counted by the clock since boot, over
// the lives of its daemon. A time of day that is set while a daemon is away would otherwise let
// hours of a `max_duration` or of a price pass in a moment.
//
// Contract: kept() is what keep() remembered last, and what has passed since by the clock since
//           boot; nothing when it was another boot, or nothing could be kept.
// Threads:  blocking; one call at a time, on the log writer's worker.
class HomeTime {
 public:
  virtual ~HomeTime() = default;
  virtual void keep(Time now, const env::Clock& clock) = 0;
  virtual std::optional<Time> kept(const env::Clock& clock) const = 0;
};

// In a file. One that cannot be written is none.
class FileHomeTime final : public HomeTime {
 public:
  explicit FileHomeTime(std::string path) : path_(std::move(path)) {}
  void keep(Time now, const env::Clock& clock) override;
  std::optional<Time> kept(const env::Clock& clock) const override;

 private:
  const std::string path_;
};

}  // namespace runnel::control
