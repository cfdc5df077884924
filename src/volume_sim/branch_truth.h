#pragma once

#include <map>
#include <memory>
#include <string>

#include "writing/branch.h"
#include "writing/testing/branch_view.h"
#include "writing/testing/file_model.h"
#include "writing/testing/random_changes.h"

namespace runnel::volume_sim {

// What a branch must be, by a model that is changed as it is: after each record of its log, so that
// the last records may be lost, and in each version.
//
// Threads: one.
class BranchTruth {
 public:
  explicit BranchTruth(std::uint64_t seed);

  // Changes the branch and the model at random. False, and neither is changed: the log has failed.
  bool change(writing::Branch& branch);
  // What outlives a kill, and a loss of power.
  void is_written(writing::Sequence sequence);
  void is_durable(writing::Sequence sequence);
  // The branch is about to begin anew, and a barrier may be dropped; and it has, or not.
  void begins_anew() { is_beginning_anew_ = true; }
  void has_begun_anew(const writing::Branch& branch);
  // To be called after each step of the simulation: what is published is told by the branch.
  void look(const writing::Branch& branch);

  // A new life has the branch as its log tells it. What is wrong with it; empty: nothing.
  enum class Loss : bool { kProcess, kPower };
  std::string opened(const writing::Branch& branch, Loss loss);

  const writing::testing::ModelVersions& versions() const { return versions_; }
  const writing::testing::FileModel& model() const { return *states_.rbegin()->second; }
  std::int64_t changes() const { return changed_; }
  std::int64_t lost() const { return lost_; }  // Records.

 private:
  using State = std::shared_ptr<const writing::testing::FileModel>;
  const writing::testing::FileModel& at(writing::Sequence sequence) const;
  void prune(const writing::Branch& branch);

  writing::testing::RandomChanges random_;
  std::map<writing::Sequence, State> states_;  // Since a record.
  writing::Sequence written_ = 0;
  writing::Sequence durable_ = 0;
  // Trees that differ in times of folders alone are one version: the last one counts.
  writing::testing::ModelVersions versions_;
  writing::Sequence barrier_ = 0;  // Of the publish under way.
  bool is_beginning_anew_ = false;
  std::int64_t changed_ = 0;
  std::int64_t lost_ = 0;
};

}  // namespace runnel::volume_sim
