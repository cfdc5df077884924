#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "writing/overlay.h"
#include "writing/testing/file_model.h"

namespace runnel::writing::testing {

// Versions that were published, all in memory, by their ids.
using ModelVersions = std::map<std::string, ModelTree>;

// A branch as a tree in memory, to be held against a model of it.
//
// Lifetime: what it is given outlives it.
class BranchView {
 public:
  // Bytes that were written to the branch.
  using BytesAt = std::function<std::string(DataPlace place, std::size_t length)>;

  BranchView(const Overlay& overlay, const ModelVersions& versions, BytesAt bytes)
      : overlay_(overlay), versions_(versions), bytes_(std::move(bytes)) {}

  // What programs see.
  ModelTree seen() const;
  // What a version of these nodes would have: those at a barrier, or those of now.
  ModelTree version_of(const Overlay::Nodes& nodes) const;
  // The bytes of a file in these ranges, which begin at 0 and have no gap.
  std::string bytes_of(Inode inode, const OverlayNode& node,
                       const std::vector<Range>& ranges) const;
  const ModelTree& base() const { return versions_.at(*overlay_.base()); }

 private:
  ModelNode model_of(Inode inode, const OverlayNode& node) const;

  const Overlay& overlay_;
  const ModelVersions& versions_;
  const BytesAt bytes_;
};

}  // namespace runnel::writing::testing
