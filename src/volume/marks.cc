#include "volume/marks.h"

#include <vector>

#include "volume/node.h"

namespace runnel::volume {
namespace {

enum class TreeKind : std::uint8_t { kNames, kInodes, kChunks, kPagesOfChunks };

}  // namespace

class Marks::Visitor final : public PageVisitor {
 public:
  Visitor(Marks& marks, TreeKind kind, Missing missing)
      : marks_(marks), kind_(kind), missing_(missing) {}

  // Names lead to no object but their pages.
  bool enters(const PageRef& ref, std::uint8_t height) override {
    marks_.keys_.insert(bundle_key(ref.bundle));
    if (kind_ == TreeKind::kNames && height == 0) return false;
    // Walked once more when somebody asks for all of it.
    if (kind_ == TreeKind::kPagesOfChunks) return height > 0;
    return marks_.pages_.emplace(ref.bundle, ref.offset).second;
  }

  Result<void> leaf(const Page& page) override {
    for (std::size_t index = 0; index < page.size(); ++index) {
      if (kind_ == TreeKind::kChunks) {
        for (const Extent& extent : TRY(decode_extents(page.value(index)))) mark(extent);
      } else {
        for (const Extent& extent : TRY(extents_of(page.key(index), page.value(index)))) {
          mark(extent);
          count(extent);
        }
      }
    }
    return {};
  }

  Result<void> lost(const PageRef& /*ref*/, const Error& error) override {
    if (missing_ == Missing::kIgnore && error.code == Errc::kNotFound) return {};
    return error;
  }

 private:
  void mark(const Extent& extent) {
    if (extent.is_packed()) marks_.keys_.insert(pack_key(extent.pack));
  }
  void count(const Extent& extent) {
    if (!extent.is_packed() || !marks_.chunks_.emplace(extent.pack, extent.offset).second) return;
    Living& living = marks_.packs_[extent.pack];
    living.bytes += extent.stored;
    ++living.chunks;
  }

  Marks& marks_;
  const TreeKind kind_;
  const Missing missing_;
};

Async<void> Marks::add(PageSource& pages, Manifest manifest, Chunks chunks, Missing missing) {
  Visitor names(*this, TreeKind::kNames, missing);
  CO_TRY(co_await walk(pages, manifest.names, names));
  Visitor inodes(*this, TreeKind::kInodes, missing);
  CO_TRY(co_await walk(pages, manifest.inodes, inodes));
  if (chunks == Chunks::kNone) co_return {};
  const auto kind = chunks == Chunks::kAll ? TreeKind::kChunks : TreeKind::kPagesOfChunks;
  Visitor visitor(*this, kind, missing);
  co_return co_await walk(pages, manifest.chunks, visitor);
}

bool Marks::lives(const Extent& extent) const {
  return chunks_.contains({extent.pack, extent.offset});
}

}  // namespace runnel::volume
