#pragma once

#include <string>
#include <vector>

#include "async/stop_token.h"
#include "base/units.h"
#include "object/object_store.h"
#include "volume/put_source.h"

namespace runnel::volume {

// Objects of a bucket as files of a volume that stay where they are: nothing of them is read, each
// file is the object that a list has named, for as long as nobody replaces it.
//
// Contract: an entry is as entry_of_object() has it, its hash as linked_hash(). kUnsupported names
//           a store that tells no ETags, kInvalid an object of over LinkedObject::kBytesMax.
// Lifetime: the store outlives it.
class LinkSource final : public PutSource {
 public:
  // `url`: of the store, as it is opened again by who reads.
  LinkSource(object::ObjectStore& store, std::string url, Time now, async::StopToken stop);

  Async<ReadBatch> next(async::Worker& worker) override;
  const std::vector<std::string>& passed_over() const override { return passed_over_; }

 private:
  Result<ReadEntry> entry_of(const object::Listed& object) const;

  object::ObjectStore& store_;
  const std::string url_;
  const Time now_;
  const async::StopToken stop_;
  std::string after_;
  std::vector<std::string> passed_over_;
};

}  // namespace runnel::volume
