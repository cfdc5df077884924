#include "volume/store_pages.h"

#include <string>

#include "volume/bundle.h"

namespace runnel::volume {

Async<std::shared_ptr<const Page>> StorePages::load(PageRef ref) {
  const Place place(ref.bundle, ref.offset);
  if (const auto found = by_place_.find(place); found != by_place_.end()) {
    kept_.splice(kept_.begin(), kept_, found->second);
    co_return found->second->page;
  }
  std::string stored(ref.stored, '\0');
  CO_TRY(co_await store_.read(prefix_ + bundle_key(ref.bundle),
                              static_cast<std::int64_t>(ref.offset), stored, stop_));
  auto page = std::make_shared<const Page>(CO_TRY(read_page(ref, stored, check_)));
  keep(place, page);
  co_return page;
}

void StorePages::keep(const Place& place, std::shared_ptr<const Page> page) {
  if (by_place_.contains(place)) return;  // Loaded twice at one time.
  memory_ += page->memory();
  kept_.push_front({place, std::move(page)});
  by_place_[place] = kept_.begin();
  while (memory_ > memory_max_ && kept_.size() > 1) {
    memory_ -= kept_.back().page->memory();
    by_place_.erase(kept_.back().place);
    kept_.pop_back();
  }
}

}  // namespace runnel::volume
