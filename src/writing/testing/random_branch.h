#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "writing/overlay.h"
#include "writing/replay.h"
#include "writing/testing/file_model.h"

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
  std::string seen_text() const { return text(seen()); }

  std::uint64_t published() const { return published_; }
  std::uint64_t forgotten() const { return forgotten_; }  // Nodes.

 private:
  Moment now() { return {++time_, 0}; }
  std::uint64_t upto(std::uint64_t most) { return dice_.next() % (most + 1); }
  std::string a_name() { return {static_cast<char>('a' + dice_.next() % 6)}; }
  void log(Change change);
  // A node that has a name, or is open without one.
  std::optional<Inode> some(std::optional<volume::NodeKind> kind, bool has_name);
  Inode a_folder() { return *some(volume::NodeKind::kFolder, true); }
  std::optional<Place> a_place();
  Inode named(const Place& at) const { return model_.at(at.folder).names.at(at.name); }
  bool is_there(const Place& at) const { return model_.at(at.folder).names.contains(at.name); }
  bool is_below(Inode inode, Inode folder) const;
  void adopt(Inode inode);

  void create();
  void write();
  void truncate();
  void rename();
  bool may_rename(const Rename& change);
  void link();
  void unlink();
  void set_attributes();
  void commit();
  void close();
  void begin_publish();
  void end_publish();
  void begin_anew();

  const ModelTree& base() const { return versions_.at(*overlay_.base()); }
  std::string bytes_of(Inode inode, const OverlayNode& node,
                       const std::vector<Range>& ranges) const;
  void add_names(Inode inode, const OverlayNode& node, ModelNode& model) const;
  ModelTree seen() const;
  ModelTree version_of(const Overlay::Nodes& nodes) const;
  // The base, changed by the edit that a publish of the barrier makes.
  ModelTree edited(const Overlay::Frozen& frozen) const;

  SplitMix64 dice_;
  BranchLog& log_;
  Overlay overlay_;
  FileModel model_;
  std::map<std::string, ModelTree> versions_;
  ModelTree expected_;  // Of the publish that is under way.
  std::string staged_;
  std::int64_t time_ = 0;
  Inode last_inode_ = volume::kRootInode;
  std::uint64_t barrier_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace runnel::writing::testing
