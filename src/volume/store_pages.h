#pragma once

#include <memory>
#include <string>
#include <utility>

#include "async/stop_token.h"
#include "object/object_store.h"
#include "volume/bundle.h"
#include "volume/reader_memory.h"
#include "volume/recently_used.h"
#include "volume/stored_ranges.h"
#include "volume/tree.h"

namespace runnel::volume {

// Pages out of the bundles of a volume, of which the last used stay in memory.
//
// Contract: a page that is loaded as a root comes with all of its bundle before it, and one that is
//           loaded below a branch with the next ones, by one request.
// Threads:  the loop's only.
// Lifetime: store and memory outlive it.
// Limits:   the memory's budgets of pages, and of bundles for what came with them.
class StorePages final : public PageSource {
 public:
  static constexpr std::uint64_t kNeighbourBytesMax = 1 << 20;

  StorePages(object::ObjectStore& store, std::string prefix, ReaderMemory& memory,
             async::StopToken stop, PageCheck check = PageCheck::kSum)
      : store_(store),
        prefix_(std::move(prefix)),
        stop_(std::move(stop)),
        check_(check),
        pages_(memory.pages),
        fetched_(memory.bundles) {}

  Async<PagePtr> load(PageRef ref) override;
  Async<PagePtr> load_root(PageRef ref) override;
  Async<PagePtr> load_child(const Page& branch, std::size_t index, ObjectId bundle) override;
  std::size_t memory() const { return pages_.size() + fetched_.bytes(); }

 private:
  using Place = std::pair<ObjectId, std::uint64_t>;

  PagePtr kept(const PageRef& ref);
  // Loads a page together with all of [begin, end) of its bundle.
  Async<PagePtr> load_with(PageRef ref, std::uint64_t begin, std::uint64_t end);
  Async<std::string> read_stored(PageRef ref, std::uint64_t begin, std::uint64_t end);

  object::ObjectStore& store_;
  const std::string prefix_;  // Of the volume's keys, with '/' at its end.
  const async::StopToken stop_;
  const PageCheck check_;
  RecentlyUsed<Place, PagePtr> pages_;
  StoredRanges fetched_;  // Of bundles.
};

}  // namespace runnel::volume
