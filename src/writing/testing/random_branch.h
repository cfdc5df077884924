#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "writing/overlay.h"
#include "writing/replay.h"
#include "writing/testing/branch_view.h"
#include "writing/testing/file_model.h"
#include "writing/testing/random_changes.h"

namespace runnel::writing::testing {

// Where the records of a branch are.
class BranchLog {
 public:
  virtual ~BranchLog() = default;
  virtual LoggedRecord append(Record record) = 0;
  virtual std::string read(DataPlace place, std::size_t length) const = 0;
  // As WriteLog's.
  virtual void begin_anew(const std::function<std::vector<Record>()>& checkpoint,
                          const RecordVisitor& visit) = 0;
  virtual void replay(const RecordVisitor& visit) = 0;
};

// A branch that is changed at random, beside a model that is changed the same. Staged bytes, and
// the versions that were published, are in memory.
class RandomBranch {
 public:
  RandomBranch(std::uint64_t seed, BranchLog& log);

  // One change, or a step of a publish, at random.
  void step();
  // Fails the test where programs would see something else than the model says, or a version would
  // have it.
  void expect_as_modelled() const;
  // Reads the log again.
  void replay();
  // What programs see, a line for each node.
  std::string seen_text() const { return text(view().seen()); }

  std::uint64_t published() const { return published_; }
  std::uint64_t forgotten() const { return forgotten_; }  // Nodes.

 private:
  void log(Change change);
  void change();
  void begin_publish();
  void end_publish();
  void begin_anew();

  BranchView view() const;
  // The base, changed by the edit that a publish of the barrier makes.
  ModelTree edited(const Overlay::Frozen& frozen) const;

  SplitMix64 dice_;
  BranchLog& log_;
  Overlay overlay_;
  FileModel model_;
  RandomChanges changes_;
  ModelVersions versions_;
  ModelTree expected_;  // Of the publish that is under way.
  std::uint64_t barrier_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace runnel::writing::testing
