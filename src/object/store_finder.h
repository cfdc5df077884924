#pragma once

#include "base/result.h"
#include "object/object_store.h"
#include "object/store_url.h"

namespace runnel::object {

// Knows the stores of objects that lie elsewhere than what names them.
//
// Threads:  the loop's only.
// Lifetime: what it found lives as long as it does.
class StoreFinder {
 public:
  virtual ~StoreFinder() = default;

  virtual Result<ObjectStore*> find(const StoreUrl& url) = 0;
};

}  // namespace runnel::object
