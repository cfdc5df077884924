#include "library/path_walk.h"

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

namespace runnel::library {
namespace {

using volume::Inode;
using volume::kRootInode;
using volume::Name;
using volume::Node;
using volume::NodeKind;
using volume::Snapshot;

constexpr std::uint32_t kEmptyRootMode = 0755;

// The parts of a path still to be gone, in order.
class Way {
 public:
  explicit Way(std::string_view path) { go_first(path); }

  bool is_done() const { return parts_.empty(); }
  std::string next() {
    std::string part = std::move(parts_.front());
    parts_.pop_front();
    return part;
  }
  void go_first(std::string_view path) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      if (end > begin) parts.emplace_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
    parts_.insert(parts_.begin(), parts.begin(), parts.end());
  }

 private:
  std::deque<std::string> parts_;
};

// A version without files has no root in its index.
Async<Node> node_at(Snapshot& snapshot, Inode inode) {
  const bool is_empty = snapshot.manifest().version.empty();
  if (!is_empty) co_return co_await snapshot.node(inode);
  Node root;
  root.kind = NodeKind::kFolder;
  root.mode = kEmptyRootMode;
  co_return root;
}

// A walk under way: the folders from the root to where it is, and what it came to.
class Walk {
 public:
  Walk(Snapshot& snapshot, std::string_view path, LastLink last)
      : snapshot_(snapshot), way_(path), last_(last) {}

  bool is_done() const { return way_.is_done(); }
  const Name& at() const { return at_; }

  // Goes one part further, unless that is refused.
  Async<std::optional<Refusal>> step() {
    const std::string part = way_.next();
    if (at_.kind != NodeKind::kFolder) co_return refused(Refusal::kNotAFolder);
    if (part == ".") co_return none();
    if (part == "..") co_return go_up();
    if (part.size() > kNameBytesMax) co_return refused(Refusal::kNameTooLong);
    const std::optional<Name> next = CO_TRY(co_await snapshot_.look_up(at_.inode, part));
    if (!next) co_return refused(Refusal::kNoSuchPath);
    const bool is_last = way_.is_done();
    const bool is_followed = !is_last || last_ == LastLink::kFollow;
    if (next->kind == NodeKind::kLink && is_followed) co_return co_await follow(next->inode);
    at_ = *next;
    if (at_.kind == NodeKind::kFolder) folders_.push_back(at_.inode);
    co_return none();
  }

 private:
  static std::optional<Refusal> none() { return std::nullopt; }
  static std::optional<Refusal> refused(Refusal why) { return why; }

  std::optional<Refusal> go_up() {
    if (folders_.size() == 1) return Refusal::kLeadsOut;
    folders_.pop_back();
    at_ = {folders_.back(), NodeKind::kFolder};
    return std::nullopt;
  }
  Async<std::optional<Refusal>> follow(Inode link) {
    if (++links_ > kLinksMax) co_return refused(Refusal::kTooManyLinks);
    const Node node = CO_TRY(co_await snapshot_.node(link));
    if (node.target.starts_with('/')) co_return refused(Refusal::kLeadsOut);
    way_.go_first(node.target);
    co_return none();
  }

  Snapshot& snapshot_;
  Way way_;
  const LastLink last_;
  std::vector<Inode> folders_{kRootInode};
  Name at_{kRootInode, NodeKind::kFolder};
  int links_ = 0;
};

}  // namespace

Async<PathEnd> walk_path(Snapshot& snapshot, std::string path, LastLink last) {
  Walk walk(snapshot, path, last);
  while (!walk.is_done()) {
    const std::optional<Refusal> refusal = CO_TRY(co_await walk.step());
    if (refusal) co_return PathEnd{refusal, {}};
  }
  const Inode inode = walk.at().inode;
  Node node = CO_TRY(co_await node_at(snapshot, inode));
  co_return PathEnd{std::nullopt, {inode, std::move(node)}};
}

}  // namespace runnel::library
