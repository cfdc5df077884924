#pragma once

#include <map>
#include <memory>
#include <string>

#include "volume/bundle.h"
#include "volume/tree.h"

namespace runnel::volume::testing {

// Bundles in memory, by their ids: where a BundleWriter's objects go, and pages come from.
class MemoryPages final : public PageSource {
 public:
  Async<std::shared_ptr<const Page>> load(PageRef ref) override;
  void keep(std::vector<NewObject> objects);

  std::map<ObjectId, std::string>& bundles() { return bundles_; }
  int loads() const { return loads_; }

 private:
  std::map<ObjectId, std::string> bundles_;
  int loads_ = 0;
};

}  // namespace runnel::volume::testing
