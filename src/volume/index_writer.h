#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "volume/edit.h"
#include "volume/snapshot.h"

namespace runnel::volume {

// Gathers what an edit changes in the trees of a version, and makes the index of the next one.
//
// Threads:  the loop's only.
// Lifetime: the base outlives it.
// Limits:   takes memory for each name and node that is changed.
class IndexWriter {
 public:
  explicit IndexWriter(Snapshot& base);

  // A number that no node has had.
  Inode take_number() { return next_inode_++; }
  // Numbers up to this one were given to nodes elsewhere.
  void pass_over(Inode inode);
  void set_name(Inode folder, const std::string& name, const Name& what);
  // Unless it was set: what is put in the place of another has the name.
  void drop_name(Inode folder, const std::string& name);
  // A node as it is afterwards. One that the base has is forgotten first.
  void store(Inode inode, Node node);
  // The records of a node of the base, which a long file has several of.
  Async<void> forget(Inode inode);
  // So many more of it, or less.
  void count(const Node& node, std::int64_t times);

  // `tree`: the hash of the root folder. To be called once.
  Async<EditedIndex> finish(env::Random& random, hash::Digest tree, NewChunks chunks);

 private:
  using Values = std::map<std::string, std::optional<std::string>>;

  Snapshot& base_;
  Inode next_inode_;
  Totals totals_;
  Values names_;
  Values inodes_;
};

}  // namespace runnel::volume
