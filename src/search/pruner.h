#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "model/search_spec.h"

namespace runnel::search {

enum class Verdict : std::uint8_t {
  kGoOn,
  kPause,  // Others come first; it may be promoted later. Only where trials can be paused.
  kStop,   // It has no chance any more.
};

// Judges trials by what they report on their way. Smaller values are better.
//
// Contract: a function of its construction and of the calls below but for the const ones, in their
//           order, so that a pruner that is told everything again judges the same. All steps of one
//           trial grow; a value is finite.
// Threads:  one at a time.
class Pruner {
 public:
  virtual ~Pruner() = default;
  // The first step after `step` at which a report of this trial would be judged (a later report
  // stands for it when none has just that step); nothing when none will be.
  virtual std::optional<std::int64_t> next_step(std::int64_t trial, std::int64_t step) const = 0;
  // The trial reported at a step that next_step() had named, or after it.
  virtual Verdict reported(std::int64_t trial, std::int64_t step, double value) = 0;
  // The trial ended, with whatever result; a paused one that is ended is never promoted.
  virtual void ended(std::int64_t trial) = 0;
  // A paused trial that should go on before any new one starts: the one at the highest rung, then
  // the best there, then the first. The caller tells by promoted() that it goes on.
  virtual std::optional<std::int64_t> promotable() const = 0;
  // The paused trial that is furthest, then the best there: the one that should be whole when no
  // other goes on any more. It is told by promoted() as well.
  virtual std::optional<std::int64_t> leader() const = 0;
  virtual void promoted(std::int64_t trial) = 0;
};

// `can_pause`: trials keep a checkpoint, so kPause may be answered; otherwise kStop is.
std::unique_ptr<Pruner> make_pruner(const model::PrunerSpec& spec, bool can_pause);

}  // namespace runnel::search
