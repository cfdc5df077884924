#pragma once

#include <list>
#include <map>
#include <memory>
#include <utility>

#include "async/stop_token.h"
#include "object/object_store.h"
#include "volume/bundle.h"
#include "volume/tree.h"

namespace runnel::volume {

// Pages out of the bundles of a volume, of which the last used stay in memory.
//
// Threads:  the loop's only.
// Lifetime: the store outlives it.
// Limits:   pages of `memory_max` bytes are kept.
class StorePages final : public PageSource {
 public:
  StorePages(object::ObjectStore& store, std::string prefix, std::size_t memory_max,
             async::StopToken stop, PageCheck check = PageCheck::kSum)
      : store_(store),
        prefix_(std::move(prefix)),
        memory_max_(memory_max),
        stop_(std::move(stop)),
        check_(check) {}

  Async<std::shared_ptr<const Page>> load(PageRef ref) override;
  std::size_t memory() const { return memory_; }

 private:
  using Place = std::pair<ObjectId, std::uint64_t>;
  struct Kept {
    Place place;
    std::shared_ptr<const Page> page;
  };
  void keep(const Place& place, std::shared_ptr<const Page> page);

  object::ObjectStore& store_;
  const std::string prefix_;  // Of the volume's keys, with '/' at its end.
  const std::size_t memory_max_;
  const async::StopToken stop_;
  const PageCheck check_;
  std::list<Kept> kept_;  // The last used first.
  std::map<Place, std::list<Kept>::iterator> by_place_;
  std::size_t memory_ = 0;
};

}  // namespace runnel::volume
