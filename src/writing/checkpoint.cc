#include <algorithm>
#include <utility>

#include "base/check.h"
#include "writing/overlay.h"

namespace runnel::writing {
namespace {

// Behind the last byte of a file that is the base's.
std::uint64_t base_end(const Content& content) {
  std::uint64_t end = 0;
  const auto look_at = [&end](const std::vector<Range>& ranges) {
    for (const Range& range : ranges) {
      if (range.source.kind == Source::Kind::kBase) end = std::max(end, range.end());
    }
  };
  look_at(content.ranges(0, content.size()));
  if (content.is_committed()) look_at(content.committed_ranges());
  return end;
}

// Writes an overlay as records.
class Rewriter {
 public:
  void add(Change change) { records_.push_back({.request = {}, .change = std::move(change)}); }
  void add_answer(RequestId request, Inode made) {
    records_.push_back({.request = request, .change = Answered{made}});
  }

  // With the time of what was committed, which a commit behind it takes.
  void adopt(Inode inode, const OverlayNode& node) {
    add(Adopt{.inode = inode,
              .kind = node.kind,
              .is_new = node.is_new,
              .mode = node.mode,
              .owner = node.owner,
              .group = node.group,
              .places = {node.places.begin(), node.places.end()},
              .size = base_end(node.content),
              .target = node.target,
              .modified = node.content.is_committed() ? node.committed : node.modified,
              .accessed = node.accessed,
              .changed = node.changed,
              .bytes_of = node.bytes_of});
  }

  void add_names(Inode folder, const OverlayNode& node) {
    for (const auto& [name, what] : node.names) {
      add(AdoptName{.at = {.folder = folder, .name = name}, .inode = what.inode});
    }
  }

  // What was committed first, then the rest.
  void add_content(Inode inode, const OverlayNode& node) {
    const Content& content = node.content;
    if (content.is_base()) return;
    size_ = base_end(content);
    if (content.is_committed()) {
      add_ranges(inode, content.committed_ranges(), node.committed);
      cut(inode, content.committed_size(), node.committed);
      add(Commit{inode});
    }
    add_ranges(inode, content.uncommitted_ranges(), node.modified);
    cut(inode, content.size(), node.modified);
  }

  void add_attributes(Inode inode, const OverlayNode& node) {
    add(SetAttributes{.inode = inode,
                      .mode = std::nullopt,
                      .owner = std::nullopt,
                      .group = std::nullopt,
                      .modified = node.modified,
                      .accessed = node.accessed,
                      .when = node.changed});
    if (node.is_closed) add(Closed{inode});
  }

  std::vector<Record> take() { return std::move(records_); }

 private:
  // Nothing behind zeros is the base's: they come of a file that was cut there.
  void add_ranges(Inode inode, const std::vector<Range>& ranges, Moment when) {
    for (const Range& range : ranges) {
      if (range.source.kind == Source::Kind::kBase) continue;
      if (range.source.kind == Source::Kind::kZeros) {
        cut(inode, range.offset, when);
        cut(inode, range.end(), when);
        continue;
      }
      add(WriteStaged{.file = inode,
                      .offset = range.offset,
                      .length = range.length,
                      .place = range.source.data,
                      .when = when});
      size_ = std::max(size_, range.end());
    }
  }
  void cut(Inode inode, std::uint64_t size, Moment when) {
    if (size == size_) return;
    add(Truncate{.file = inode, .size = size, .when = when});
    size_ = size;
  }

  std::vector<Record> records_;
  std::uint64_t size_ = 0;  // Of the file so far.
};

// A folder before what is in it, else by number.
std::vector<std::pair<Inode, Overlay::NodePtr>> from_the_top(const Overlay::Nodes& nodes) {
  const auto depth_of = [&nodes](const OverlayNode& node) {
    std::size_t depth = 0;
    for (const OverlayNode* at = &node; !at->places.empty(); ++depth) {
      CHECK(at->is_folder(), "a name is in what is no folder");
      at = nodes.at(at->places.begin()->folder).get();
    }
    return depth;
  };
  std::map<std::pair<std::size_t, Inode>, Overlay::NodePtr> sorted;
  for (const auto& [inode, node] : nodes) {
    std::size_t depth = 0;
    for (const Place& place : node->places) {
      depth = std::max(depth, 1 + depth_of(*nodes.at(place.folder)));
    }
    sorted.emplace(std::pair(depth, inode), node);
  }
  std::vector<std::pair<Inode, Overlay::NodePtr>> all;
  all.reserve(sorted.size());
  for (auto& [at, node] : sorted) all.emplace_back(at.second, std::move(node));
  return all;
}

}  // namespace

std::vector<Record> Overlay::checkpoint() const {
  CHECK(!frozen_, "a publish looks for its barrier");
  Rewriter rewriter;
  if (base_) rewriter.add(Based{*base_});
  const std::vector<std::pair<Inode, NodePtr>> nodes = from_the_top(nodes_);
  for (const auto& [inode, node] : nodes) rewriter.adopt(inode, *node);
  for (const auto& [inode, node] : nodes) rewriter.add_names(inode, *node);
  for (const auto& [inode, node] : nodes) {
    rewriter.add_content(inode, *node);
    rewriter.add_attributes(inode, *node);
  }
  for (const RequestId& request : answered_) rewriter.add_answer(request, answers_.at(request));
  return rewriter.take();
}

}  // namespace runnel::writing
