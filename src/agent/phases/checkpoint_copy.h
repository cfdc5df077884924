#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "agent/phases/phase.h"
#include "base/result.h"

namespace runnel::agent {

// A task's checkpoint folder gets the content of another task's.
struct CheckpointCopy {
  std::string from;         // The other task's checkpoint folder.
  std::string to;           // The task's own.
  std::string task_folder;  // Holds `to`, and the note of what was copied.
  std::string name;         // The task's; no other home or job has it.
  std::int64_t number = 1;  // The task's first, second, ... copy: each is made once.
};

// Makes the copy, if it was not made already.
//
// Contract: killed at any moment, `to` is as it was or the whole copy, and the next call makes it
//           good. Where `from` holds nothing, `to` stays as it is. kUnavailable when `from` was
//           written to meanwhile: to be called again. kInvalid when `to` is no folder.
// Threads:  any; blocks as long as copying takes.
// Limits:   a file written twice within a tick of the file system's clock (4 ms) passes as still:
//           who saves should write beside and rename.
Result<void> copy_checkpoint(const CheckpointCopy& copy);

// Removes what a copy left that was killed: the whole copy stays, which the task's next attempt
// begins with. Idempotent.
Result<void> remove_half_copy(const CheckpointCopy& copy);

// Copies the checkpoint that an attempt begins with.
class CheckpointCopyPhase final : public Phase {
 public:
  explicit CheckpointCopyPhase(std::string home) : home_(std::move(home)) {}

  // However long copying takes, as long as it gets on.
  Traits traits() const override {
    return {
        .thread = "agent-copies", .silent_max = Duration::minutes(1), .parts = Parts::kUntilBegun};
  }
  bool is_needed(const model::StartOrder& order) const override;
  Workplace workplace(const model::StartOrder& order) const override;
  std::string waits_for(const model::StartOrder&) const override {
    return "the copy of the checkpoint that it begins with";
  }
  Result<Readiness> prepare(const NodeId&, const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;
  Result<void> undo(const NodeId&, const model::StartOrder& order, PathTrail& trail) const override;
  std::optional<Duration> again(const Error& error, int tries) const override;

 private:
  CheckpointCopy copy_of(const model::StartOrder& order) const;

  static constexpr Duration kAgainAfter = Duration::millis(100);
  static constexpr int kTriesMax = 100;  // For a checkpoint that is being written.

  const std::string home_;
};

}  // namespace runnel::agent
