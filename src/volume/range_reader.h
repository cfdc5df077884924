#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "async/stop_token.h"
#include "object/object_store.h"
#include "object/store_finder.h"
#include "volume/stored_ranges.h"

namespace runnel::volume {

// Reads parts of what extents name: of a volume's packs, and of objects of other stores.
//
// Threads:  the loop's only.
// Lifetime: store and finder outlive it.
class RangeReader {
 public:
  // `prefix`: of the volume's keys, with '/' at its end. Without a finder linked objects are
  // refused with kUnsupported.
  RangeReader(object::ObjectStore& store, std::string prefix, object::StoreFinder* others = nullptr)
      : store_(&store), prefix_(std::move(prefix)), others_(others) {}

  // Of a clone: what it reads by is kept for as long as somebody reads.
  RangeReader(std::shared_ptr<object::ObjectStore> layers, std::string prefix,
              object::StoreFinder* others)
      : store_(layers.get()),
        layers_(std::move(layers)),
        prefix_(std::move(prefix)),
        others_(others) {}

  // Fills `into`, which is as long as the range. kNotFound, kCorrupt for a pack that ends before;
  // kCorrupt, too, for an object that is another one by now.
  Async<void> read(ObjectRange range, std::span<char> into, async::StopToken stop) const;

 private:
  Async<void> read_linked(ObjectRange range, std::span<char> into, async::StopToken stop) const;

  object::ObjectStore* store_;
  std::shared_ptr<object::ObjectStore> layers_;
  std::string prefix_;
  object::StoreFinder* others_;
};

}  // namespace runnel::volume
