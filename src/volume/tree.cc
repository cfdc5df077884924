#include "volume/tree.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/check.h"

namespace runnel::volume {

Result<PageRef> child_ref(const Page& branch, std::size_t index, const ObjectId& bundle) {
  PageRef ref = TRY(decode_ref(branch.value(index)));
  if (ref.bundle.is_zero()) ref.bundle = bundle;
  return ref;
}

Async<PagePtr> PageSource::load_child(const Page& branch, std::size_t index, ObjectId bundle) {
  co_return co_await load(CO_TRY(child_ref(branch, index, bundle)));
}

namespace {

using Changes = std::span<const Change>;

// A page below a branch that is being made.
struct Child {
  std::string key;  // The first one in it.
  PageRef ref;
};

Error wrong_height() {
  return Error(Errc::kCorrupt, "a page of the index is not of the height that it stands at");
}

Error out_of_range() {
  return Error(Errc::kCorrupt, "a page of the index has keys of another place");
}

Result<PagePtr> of_height(PagePtr page, std::uint8_t height) {
  if (page->height() != height) return wrong_height();
  return page;
}

Async<PagePtr> load_at(PageSource& source, const PageRef& ref, std::uint8_t height) {
  co_return of_height(CO_TRY(co_await source.load(ref)), height);
}

Async<PagePtr> load_root(PageSource& source, const TreeRoot& root, Locality locality) {
  if (locality == Locality::kNone) co_return co_await load_at(source, root.ref, root.height);
  co_return of_height(CO_TRY(co_await source.load_root(root.ref)), root.height);
}

// Where a page is, and what it holds.
struct PlacedPage {
  ObjectId bundle;
  PagePtr page;
  std::string until;  // Its keys are before that one; empty: any.
};

// A page has a key at least, and all between its branch's and the next one: so none stands at two
// places, and who goes down finds something new.
Result<void> check_range(const Page& page, std::string_view from, std::string_view until) {
  const bool is_within = page.size() > 0 && page.key(0) >= from &&
                         (until.empty() || page.key(page.size() - 1) < until);
  return is_within ? Result<void>() : out_of_range();
}

Async<PlacedPage> load_below(PageSource& source, const PlacedPage& branch, std::size_t index,
                             Locality locality) {
  const auto height = static_cast<std::uint8_t>(branch.page->height() - 1);
  const PageRef ref = CO_TRY(child_ref(*branch.page, index, branch.bundle));
  PagePtr page = CO_TRY(locality == Locality::kNone
                            ? co_await source.load(ref)
                            : co_await source.load_child(*branch.page, index, branch.bundle));
  const bool is_last = index + 1 == branch.page->size();
  std::string until = is_last ? branch.until : std::string(branch.page->key(index + 1));
  CO_TRY(check_range(*page, branch.page->key(index), until));
  co_return PlacedPage{ref.bundle, CO_TRY(of_height(std::move(page), height)), std::move(until)};
}

// Makes pages of one height out of entries that come in order.
class Packer {
 public:
  Packer(PageSink& sink, std::uint8_t height, std::size_t page_bytes)
      : sink_(sink), builder_(height), page_bytes_(page_bytes), entries_min_(height == 0 ? 1 : 2) {}

  void add(std::string_view key, std::string_view value) {
    make_room(key.size() + value.size());
    builder_.add(key, value);
  }
  // A reference is as the page has to hold it that is added next.
  void add(const Child& child) {
    constexpr std::size_t kReferenceMax = 96;
    make_room(child.key.size() + kReferenceMax);
    builder_.add(child.key, sink_.reference(child.ref));
  }
  std::vector<Child> finish() {
    if (builder_.count() > 0) close_page();
    return std::exchange(children_, {});
  }

 private:
  void make_room(std::size_t bytes) {
    constexpr std::size_t kEntryHead = 12;  // At most, of three lengths.
    const bool fits = builder_.bytes() + bytes + kEntryHead <= page_bytes_;
    if (builder_.count() >= entries_min_ && !fits) close_page();
  }
  void close_page() {
    std::string key = builder_.first_key();
    children_.push_back({std::move(key), sink_.add(builder_.finish())});
  }

  PageSink& sink_;
  PageBuilder builder_;
  const std::size_t page_bytes_;
  const std::size_t entries_min_;  // Of a branch two, or the tree would have no top.
  std::vector<Child> children_;
};

// Adds a leaf's entries with the changes to them.
void merge(const Page& leaf, Changes changes, Packer& packer) {
  auto next = changes.begin();
  const auto add_changed = [&] {
    if (next->value) packer.add(next->key, *next->value);
    ++next;
  };
  for (std::size_t index = 0; index < leaf.size(); ++index) {
    const std::string_view key = leaf.key(index);
    while (next != changes.end() && next->key < key) add_changed();
    if (next != changes.end() && next->key == key) {
      add_changed();
    } else {
      packer.add(key, leaf.value(index));
    }
  }
  while (next != changes.end()) add_changed();
}

// The changes that belong below a branch's entry: up to the first key of the next one.
Changes changes_below(const Page& branch, std::size_t index, Changes changes) {
  if (index + 1 == branch.size()) return changes;
  const auto end =
      std::lower_bound(changes.begin(), changes.end(), branch.key(index + 1),
                       [](const Change& change, std::string_view key) { return change.key < key; });
  return {changes.begin(), end};
}

void append(std::vector<Child>& all, std::vector<Child> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

class Editor {
 public:
  Editor(PageSource& source, PageSink& sink, std::size_t page_bytes)
      : source_(source), sink_(sink), page_bytes_(page_bytes) {}

  Async<Tree> edit(Tree tree, Changes changes) {
    Level top = tree ? CO_TRY(co_await edit_root(*tree, changes)) : first_leaves(changes);
    while (top.pages.size() > 1) {
      CHECK(top.height < Page::kHeightMax, "a tree of the index is too high");
      Packer packer(sink_, ++top.height, page_bytes_);
      for (const Child& child : top.pages) packer.add(child);
      top.pages = packer.finish();
    }
    if (top.pages.empty()) co_return Tree();
    co_return Tree(TreeRoot{top.pages.front().ref, top.height});
  }

 private:
  // All pages of one height.
  struct Level {
    std::vector<Child> pages;
    std::uint8_t height = 0;
  };

  Level first_leaves(Changes changes) {
    Packer packer(sink_, 0, page_bytes_);
    for (const Change& each : changes) {
      if (each.value) packer.add(each.key, *each.value);
    }
    return {packer.finish(), 0};
  }

  // What takes the place of the root, one level lower unless it is a leaf.
  Async<Level> edit_root(const TreeRoot& root, Changes changes) {
    const PagePtr page = CO_TRY(co_await load_at(source_, root.ref, root.height));
    if (!page->is_leaf()) {
      co_return Level{CO_TRY(co_await edit_below(*page, root.ref.bundle, changes)),
                      static_cast<std::uint8_t>(root.height - 1)};
    }
    Packer packer(sink_, 0, page_bytes_);
    merge(*page, changes, packer);
    co_return Level{packer.finish(), 0};
  }

  // The pages that take the place of those below a branch. Neighbours that are touched are packed
  // as one, so that what has shrunk grows together.
  Async<std::vector<Child>> edit_below(const Page& branch, const ObjectId& bundle,
                                       Changes changes) {
    const auto height = static_cast<std::uint8_t>(branch.height() - 1);
    std::vector<Child> pages;
    Packer packer(sink_, height, page_bytes_);
    for (std::size_t index = 0; index < branch.size(); ++index) {
      const PageRef ref = CO_TRY(child_ref(branch, index, bundle));
      const Changes below = changes_below(branch, index, changes);
      changes = changes.subspan(below.size());
      if (!below.empty()) {
        CO_TRY(co_await edit_into(packer, ref, height, below));
        continue;
      }
      append(pages, packer.finish());
      pages.push_back({std::string(branch.key(index)), ref});
    }
    append(pages, packer.finish());
    co_return pages;
  }

  // Gives a page's entries, changed, to the packer.
  Async<void> edit_into(Packer& packer, const PageRef& ref, std::uint8_t height, Changes changes) {
    const PagePtr page = CO_TRY(co_await load_at(source_, ref, height));
    if (page->is_leaf()) {
      merge(*page, changes, packer);
      co_return {};
    }
    for (const Child& child : CO_TRY(co_await edit_below(*page, ref.bundle, changes))) {
      packer.add(child);
    }
    co_return {};
  }

  PageSource& source_;
  PageSink& sink_;
  const std::size_t page_bytes_;
};

}  // namespace

Async<std::optional<std::string>> find(PageSource& source, Tree tree, std::string key,
                                       Locality locality) {
  if (!tree) co_return std::optional<std::string>();
  PlacedPage at{tree->ref.bundle, CO_TRY(co_await load_root(source, *tree, locality)), {}};
  while (!at.page->is_leaf()) {
    at = CO_TRY(co_await load_below(source, at, at.page->child_of(key), locality));
  }
  const std::size_t index = at.page->lower_bound(key);
  const bool is_there = index < at.page->size() && at.page->key(index) == key;
  if (!is_there) co_return std::optional<std::string>();
  co_return std::optional(std::string(at.page->value(index)));
}

namespace {

// What is asked for, and what was found of it so far.
struct Scan {
  std::string from;
  std::string until;
  std::size_t max = 0;
  std::vector<TreeEntry> found;

  bool is_over(std::string_view key) const {
    return found.size() >= max || (!until.empty() && key >= until);
  }
};

// False once the scan is over.
Async<bool> scan_page(PageSource& source, PlacedPage at, Scan& scan) {
  const Page& page = *at.page;
  if (page.is_leaf()) {
    for (std::size_t index = page.lower_bound(scan.from); index < page.size(); ++index) {
      if (scan.is_over(page.key(index))) co_return false;
      scan.found.emplace_back(page.key(index), page.value(index));
    }
    co_return true;
  }
  for (std::size_t index = page.child_of(scan.from); index < page.size(); ++index) {
    const bool begins_later = page.key(index) > scan.from;
    if (begins_later && scan.is_over(page.key(index))) co_return false;
    PlacedPage child = CO_TRY(co_await load_below(source, at, index, Locality::kNeighbours));
    const bool more = CO_TRY(co_await scan_page(source, std::move(child), scan));
    if (!more) co_return false;
  }
  co_return true;
}

}  // namespace

Async<std::vector<TreeEntry>> scan(PageSource& source, Tree tree, std::string from,
                                   std::string until, std::size_t max) {
  Scan state{std::move(from), std::move(until), max, {}};
  if (!tree || max == 0) co_return std::vector<TreeEntry>();
  PlacedPage root{
      tree->ref.bundle, CO_TRY(co_await load_root(source, *tree, Locality::kNeighbours)), {}};
  CO_TRY(co_await scan_page(source, std::move(root), state));
  co_return std::move(state.found);
}

namespace {

Async<void> walk_page(PageSource& source, PageRef ref, std::uint8_t height, PageVisitor& visitor) {
  if (!visitor.enters(ref, height)) co_return {};
  const Result<PagePtr> loaded = co_await load_at(source, ref, height);
  if (!loaded.ok()) co_return visitor.lost(ref, loaded.error());
  const Page& page = **loaded;
  if (page.is_leaf()) co_return visitor.leaf(page);
  for (std::size_t index = 0; index < page.size(); ++index) {
    const Result<PageRef> child = child_ref(page, index, ref.bundle);
    if (!child.ok()) {
      CO_TRY(visitor.lost(ref, child.error()));
      continue;
    }
    CO_TRY(co_await walk_page(source, *child, static_cast<std::uint8_t>(height - 1), visitor));
  }
  co_return {};
}

}  // namespace

Async<void> walk(PageSource& source, Tree tree, PageVisitor& visitor) {
  if (!tree) co_return {};
  co_return co_await walk_page(source, tree->ref, tree->height, visitor);
}

Async<Tree> change(PageSource& source, PageSink& sink, Tree tree, std::vector<Change> changes,
                   std::size_t page_bytes) {
  const auto not_before = [](const Change& one, const Change& next) { return one.key >= next.key; };
  CHECK(std::adjacent_find(changes.begin(), changes.end(), not_before) == changes.end(),
        "the keys of changes ascend");
  if (changes.empty()) co_return tree;
  Editor editor(source, sink, page_bytes);
  co_return co_await editor.edit(tree, changes);
}

}  // namespace runnel::volume
