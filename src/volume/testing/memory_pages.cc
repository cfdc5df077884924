#include "volume/testing/memory_pages.h"

#include <utility>

namespace runnel::volume::testing {

Async<std::shared_ptr<const Page>> MemoryPages::load(PageRef ref) {
  ++loads_;
  const auto bundle = bundles_.find(ref.bundle);
  if (bundle == bundles_.end()) co_return Error(Errc::kNotFound, "there is no such bundle");
  if (ref.offset + ref.stored > bundle->second.size()) co_return Error(Errc::kCorrupt, "it is cut");
  Page page = CO_TRY(read_page(ref, bundle->second.substr(ref.offset, ref.stored)));
  co_return std::make_shared<const Page>(std::move(page));
}

void MemoryPages::keep(std::vector<NewObject> objects) {
  for (NewObject& object : objects) bundles_.emplace(object.id, std::move(object.bytes));
}

}  // namespace runnel::volume::testing
