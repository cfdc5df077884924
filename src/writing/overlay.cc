#include "writing/overlay.h"

#include <algorithm>

namespace runnel::writing {

const OverlayNode* Overlay::find(Inode inode) const {
  const auto found = nodes_.find(inode);
  return found == nodes_.end() ? nullptr : found->second.get();
}

std::optional<Inode> Overlay::answer_of(RequestId request) const {
  const auto found = answers_.find(request);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

bool Overlay::has_to_publish() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [this](const auto& each) {
    const OverlayNode& node = *each.second;
    return node.since > published_until_ && (node.is_in_version() || !node.is_new);
  });
}

std::set<DataFile> Overlay::files() const {
  std::set<DataFile> files;
  for (const auto& [inode, node] : nodes_) node->content.add_files(files);
  if (frozen_) {
    for (const auto& [inode, node] : frozen_->nodes) node->content.add_files(files);
  }
  return files;
}

}  // namespace runnel::writing
