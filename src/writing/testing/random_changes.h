#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "writing/overlay.h"
#include "writing/testing/file_model.h"

namespace runnel::writing::testing {

// Changes of files as programs make them, at random. The same seed, models and branches give the
// same ones.
class RandomChanges {
 public:
  enum class Staging : bool { kNone, kSome };
  // `staging`: whether some writes go to a file beside the log, staged() in memory.
  RandomChanges(std::uint64_t seed, Staging staging) : dice_(seed), staging_(staging) {}

  // The records of one change, of which the last one is what the model has then, too; often none.
  // `base`: the version that the overlay is over.
  std::vector<Change> next(FileModel& model, const Overlay& overlay, const ModelTree& base);
  const std::string& staged() const { return staged_; }

 private:
  // What one change is made of.
  struct Turn {
    FileModel& model;
    const Overlay& overlay;
    const ModelTree& base;
    std::set<Inode> adopted;
    std::vector<Change> records;
  };

  Moment now() { return {++time_, 0}; }
  std::uint64_t upto(std::uint64_t most) { return dice_.next() % (most + 1); }
  std::string a_name() { return {static_cast<char>('a' + dice_.next() % 6)}; }
  // A node that has a name, or is open without one.
  std::optional<Inode> some(const Turn& turn, std::optional<volume::NodeKind> kind, bool has_name);
  Inode a_folder(const Turn& turn) { return *some(turn, volume::NodeKind::kFolder, true); }
  std::optional<Place> a_place(const Turn& turn);
  // The base's node, with the folders above it, unless the overlay has it.
  static void adopt(Turn& turn, Inode inode);

  void create(Turn& turn);
  void write(Turn& turn);
  void truncate(Turn& turn);
  void rename(Turn& turn);
  void link(Turn& turn);
  void unlink(Turn& turn);
  void set_attributes(Turn& turn);
  void commit(Turn& turn);
  void close(Turn& turn);

  SplitMix64 dice_;
  const Staging staging_;
  std::string staged_;
  std::int64_t time_ = 0;
  Inode last_inode_ = 1'000;
};

}  // namespace runnel::writing::testing
