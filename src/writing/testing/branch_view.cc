#include "writing/testing/branch_view.h"

#include "base/check.h"

namespace runnel::writing::testing {

ModelNode BranchView::model_of(Inode inode, const OverlayNode& node) const {
  ModelNode model;
  model.kind = node.kind;
  model.mode = node.mode;
  model.links = node.is_root ? 1 : node.places.size();
  model.modified = node.modified;
  model.target = node.target;
  if (const auto found = base().find(inode); found != base().end() && !node.is_new) {
    model.names = found->second.names;
  }
  for (const auto& [name, what] : node.names) {
    if (what.inode == 0) {
      model.names.erase(name);
    } else {
      model.names[name] = what.inode;
    }
  }
  return model;
}

std::string BranchView::bytes_of(Inode inode, const OverlayNode& node,
                                 const std::vector<Range>& ranges) const {
  std::string bytes;
  for (const Range& range : ranges) {
    CHECK(range.offset == bytes.size(), "the ranges of a file have a gap");
    const Source& source = range.source;
    if (source.kind == Source::Kind::kZeros) {
      bytes.append(range.length, '\0');
    } else if (source.kind == Source::Kind::kBase) {
      const ModelTree& of = node.bytes_of.empty() ? base() : versions_.at(node.bytes_of);
      bytes += of.at(inode).bytes.substr(range.offset, range.length);
    } else {
      bytes += bytes_(source.data, range.length);
    }
  }
  return bytes;
}

ModelTree BranchView::seen() const {
  ModelTree tree = base();
  for (const auto& [inode, node] : overlay_.nodes()) {
    if (node->is_closed) {
      tree.erase(inode);
      continue;
    }
    ModelNode& made = tree[inode] = model_of(inode, *node);
    made.bytes = bytes_of(inode, *node, node->content.ranges(0, node->content.size()));
  }
  return tree;
}

ModelTree BranchView::version_of(const Overlay::Nodes& nodes) const {
  ModelTree tree = base();
  for (const auto& [inode, node] : nodes) {
    if (!node->is_in_version()) {
      tree.erase(inode);
      continue;
    }
    ModelNode& made = tree[inode] = model_of(inode, *node);
    std::erase_if(made.names, [&nodes](const auto& name) {
      const auto found = nodes.find(name.second);
      return found != nodes.end() && !found->second->is_in_version();
    });
    if (!node->is_file()) continue;
    made.bytes = bytes_of(inode, *node, node->content.committed_ranges());
    made.modified = node->committed;
  }
  return tree;
}

}  // namespace runnel::writing::testing
