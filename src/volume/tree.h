#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/async.h"
#include "volume/page.h"

namespace runnel::volume {

// For who asks for all that there is.
inline constexpr std::size_t kAllEntries = std::size_t{1} << 40;

using PagePtr = std::shared_ptr<const Page>;

// Where pages of the index come from, checked against their references.
class PageSource {
 public:
  virtual ~PageSource() = default;
  virtual Async<PagePtr> load(PageRef ref) = 0;
  // The same for who will ask for the page's neighbours next: a source may fetch these, too. A root
  // is the last page of its bundle; what is below an entry of a branch, itself in `bundle`, has the
  // pages of the next entries behind it.
  virtual Async<PagePtr> load_root(PageRef ref) { return load(ref); }
  virtual Async<PagePtr> load_child(const Page& branch, std::size_t index, ObjectId bundle);
};

// The page below an entry of a branch that is in `bundle`.
Result<PageRef> child_ref(const Page& branch, std::size_t index, const ObjectId& bundle);

// Where new pages go: children before their parents.
class PageSink {
 public:
  virtual ~PageSink() = default;
  // What the page is found by, in this process.
  virtual PageRef add(std::string page) = 0;
  // The reference as the next page that is added has to hold it.
  virtual std::string reference(const PageRef& ref) = 0;
};

struct TreeRoot {
  PageRef ref;
  std::uint8_t height = 0;
  friend bool operator==(const TreeRoot&, const TreeRoot&) = default;
};

// A sorted map of byte strings in pages that are never changed: who changes the map writes new
// pages for what is touched, up to a new root, and shares the rest (copy on write, as in btrfs:
// Rodeh, "B-trees, Shadowing, and Clones", ACM TOS 2008). No root: nothing is there.
using Tree = std::optional<TreeRoot>;
using TreeEntry = std::pair<std::string, std::string>;

// Whether neighbours of what is asked for will be asked for next.
enum class Locality : std::uint8_t { kNone, kNeighbours };

// The value under the key; none.
Async<std::optional<std::string>> find(PageSource& source, Tree tree, std::string key,
                                       Locality locality = Locality::kNone);

// Entries with keys in [from, until), in order, at most `max`; an empty `until` is beyond all keys.
// Loads pages together with their neighbours.
Async<std::vector<TreeEntry>> scan(PageSource& source, Tree tree, std::string from,
                                   std::string until, std::size_t max);

// What walk() meets.
class PageVisitor {
 public:
  virtual ~PageVisitor() = default;
  // A page before it is loaded; false when it, and what is below it, is not to be.
  virtual bool enters(const PageRef& ref, std::uint8_t height) = 0;
  virtual Result<void> leaf(const Page& page) = 0;
  // A page that could not be loaded, or is not what its reference says. Fine: the walk goes on.
  virtual Result<void> lost(const PageRef& ref, const Error& error) = 0;
};

// All pages of a tree, parents before their children.
Async<void> walk(PageSource& source, Tree tree, PageVisitor& visitor);

struct Change {
  std::string key;
  std::optional<std::string> value;  // None: the key goes.
};

// The tree with the changes, whose keys ascend. Pages have at most `page_bytes`, unless one entry
// alone is larger.
Async<Tree> change(PageSource& source, PageSink& sink, Tree tree, std::vector<Change> changes,
                   std::size_t page_bytes);

}  // namespace runnel::volume
