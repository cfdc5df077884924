#include "volume/index_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kExtentsInRecord = 64;

std::vector<Change> listed(std::map<std::string, std::optional<std::string>>& values) {
  std::vector<Change> changes;
  changes.reserve(values.size());
  for (auto& [key, value] : values) changes.push_back({key, std::move(value)});
  return changes;
}

std::vector<Change> listed(const NewChunks& chunks) {
  std::vector<Change> changes;
  changes.reserve(chunks.size());
  for (const auto& [digest, extent] : chunks) {
    changes.push_back({std::string(digest.data(), digest.size()), encode_extents({extent})});
  }
  // As bytes: those of a digest are signed.
  std::sort(changes.begin(), changes.end(),
            [](const Change& one, const Change& other) { return one.key < other.key; });
  return changes;
}

}  // namespace

IndexWriter::IndexWriter(Snapshot& base)
    : base_(base), next_inode_(base.manifest().next_inode), totals_(base.manifest().totals) {}

void IndexWriter::pass_over(Inode inode) { next_inode_ = std::max(next_inode_, inode + 1); }

void IndexWriter::set_name(Inode folder, const std::string& name, const Name& what) {
  names_[name_key(folder, name)] = encode_name(what);
}

void IndexWriter::drop_name(Inode folder, const std::string& name) {
  names_.try_emplace(name_key(folder, name), std::nullopt);
}

// A long file's extents are records of their own.
void IndexWriter::store(Inode inode, Node node) {
  CHECK(inode < next_inode_, "a node has a number that was never given");
  if (node.extents.size() > Node::kInlineExtentsMax) {
    std::uint64_t offset = 0;
    for (std::size_t begin = 0; begin < node.extents.size(); begin += kExtentsInRecord) {
      const std::size_t end = std::min(begin + kExtentsInRecord, node.extents.size());
      const std::vector<Extent> some(node.extents.begin() + static_cast<std::ptrdiff_t>(begin),
                                     node.extents.begin() + static_cast<std::ptrdiff_t>(end));
      inodes_[extents_key(inode, offset)] = encode_extents(some);
      for (const Extent& extent : some) offset += extent.length;
    }
    node.extents.clear();
  }
  inodes_[inode_key(inode)] = encode_node(node);
}

Async<void> IndexWriter::forget(Inode inode) {
  const std::vector<TreeEntry> records = CO_TRY(co_await scan(
      base_.pages(), base_.manifest().inodes, inode_key(inode), inode_key(inode + 1), kAllEntries));
  for (const auto& [key, value] : records) inodes_[key] = std::nullopt;
  co_return {};
}

void IndexWriter::count(const Node& node, std::int64_t times) {
  switch (node.kind) {
    case NodeKind::kFile:
      totals_.files += times;
      totals_.bytes += times * static_cast<std::int64_t>(node.size);
      break;
    case NodeKind::kFolder: totals_.folders += times; break;
    case NodeKind::kLink: totals_.links += times; break;
  }
}

Async<EditedIndex> IndexWriter::finish(env::Random& random, hash::Digest tree, NewChunks chunks) {
  const Manifest& base = base_.manifest();
  BundleWriter writer(random);
  PageSource& pages = base_.pages();
  Tree names = CO_TRY(co_await change(pages, writer, base.names, listed(names_), kIndexPageBytes));
  Tree inodes =
      CO_TRY(co_await change(pages, writer, base.inodes, listed(inodes_), kIndexPageBytes));
  Tree kept = CO_TRY(co_await change(pages, writer, base.chunks, listed(chunks), kChunkPageBytes));
  std::vector<NewObject> bundles = writer.finish();
  co_return EditedIndex{.tree = tree,
                        .names = writer.resolved(names),
                        .inodes = writer.resolved(inodes),
                        .chunks = writer.resolved(kept),
                        .next_inode = next_inode_,
                        .totals = totals_,
                        .bundles = std::move(bundles)};
}

}  // namespace runnel::volume
