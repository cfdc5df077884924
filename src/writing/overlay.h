#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "writing/change.h"
#include "writing/content.h"

namespace runnel::writing {

// A name in a folder that is not as the base has it.
struct OverlayName {
  Inode inode = 0;     // 0: nothing has it.
  Sequence since = 0;  // The record that changed it.
};

// A file, folder or link that was changed, whole but for the names and bytes that the base has.
struct OverlayNode {
  volume::NodeKind kind = volume::NodeKind::kFile;
  bool is_new = false;  // The base has none of this number.
  std::uint32_t mode = 0;
  std::optional<std::uint32_t> owner;
  std::optional<std::uint32_t> group;
  std::set<Place> places;  // All names that it has; a folder has one, and the root none.
  bool is_root = false;
  Moment modified;
  Moment accessed;
  Moment changed;
  Moment committed;                          // When what was committed had been modified.
  std::string target;                        // Of a link.
  Content content;                           // Of a file.
  std::map<std::string, OverlayName> names;  // Of a folder: those that were changed.
  // The record that changed it last, but for bytes that are not committed. 0: none.
  Sequence since = 0;
  bool is_closed = false;  // It has no name, and nobody has it open.
  // Of one that its base has not any more: the version that its bytes of a base are of.
  std::string bytes_of;

  bool is_file() const { return kind == volume::NodeKind::kFile; }
  bool is_folder() const { return kind == volume::NodeKind::kFolder; }
  // Whether a version has it: a file once it was committed.
  bool is_in_version() const { return has_name() && (!is_file() || content.is_committed()); }
  // Else it is gone, but for who has it open.
  bool has_name() const { return is_root || !places.empty(); }
};

// What was changed in a branch since its base: the fold of its log. docs/design/overlay.md.
//
// Contract: the same records give the same overlay, on whatever machine, and whether they are
//           applied as they are made or read from a log. Nothing of the base is looked at: who
//           changes a node of it appends an Adopt first. A node that the overlay has is told by it
//           whole, any other one is the base's.
// Cost:     of a record the logarithm of what is there; of a Barrier a pointer for each node, which
//           is copied when it is changed before the publish has ended.
class Overlay {
 public:
  using NodePtr = std::shared_ptr<const OverlayNode>;
  using Nodes = std::unordered_map<Inode, NodePtr>;

  // What was there at a barrier, for the publish of it.
  struct Frozen {
    std::uint64_t number = 0;
    Sequence sequence = 0;   // Of the barrier.
    std::string publishing;  // The version that it is about to become; empty: not yet.
    Nodes nodes;
  };

  // kCorrupt for a record that does not go on from those before it: then nothing has changed.
  Result<void> apply(const LoggedRecord& logged);

  // The version that it is over; none before the first record.
  const std::optional<std::string>& base() const { return base_; }
  // None: it is as the base has it. Good until the next record.
  const OverlayNode* find(Inode inode) const;
  const Nodes& nodes() const { return nodes_; }
  const std::optional<Frozen>& frozen() const { return frozen_; }
  // What a request made, 0 for nothing, where it was done; of the last kAnswersMax of them.
  std::optional<Inode> answer_of(RequestId request) const;
  // Whether a version would get something that was not published.
  bool has_to_publish() const;
  // The files that its bytes are in.
  std::set<DataFile> files() const;
  // What is frozen has become this version, as if a record told so, or, empty, is forgotten.
  void end_publish(const std::string& published);
  // Records that make the same of an overlay without any. To be called while nothing is frozen.
  std::vector<Record> checkpoint() const;

  static constexpr std::size_t kAnswersMax = 4'096;  // More than a kernel has on their way.

 private:
  class Fold;

  std::optional<std::string> base_;
  Nodes nodes_;
  std::unordered_map<Inode, std::size_t> places_in_;  // How many names its nodes have in a folder.
  std::optional<Frozen> frozen_;
  Sequence published_until_ = 0;  // The last barrier that was.
  std::map<RequestId, Inode> answers_;
  std::deque<RequestId> answered_;  // In their order.
};

}  // namespace runnel::writing
