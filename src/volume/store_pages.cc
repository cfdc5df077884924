#include "volume/store_pages.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "volume/bundle.h"

namespace runnel::volume {

PagePtr StorePages::kept(const PageRef& ref) {
  const PagePtr* const page = pages_.find({ref.bundle, ref.offset});
  return page == nullptr ? nullptr : *page;
}

Async<PagePtr> StorePages::load(PageRef ref) {
  co_return co_await load_with(ref, ref.offset, ref.offset + ref.stored);
}

Async<PagePtr> StorePages::load_root(PageRef ref) {
  co_return co_await load_with(ref, 0, ref.offset + ref.stored);
}

Async<PagePtr> StorePages::load_child(const Page& branch, std::size_t index, ObjectId bundle) {
  const PageRef ref = CO_TRY(child_ref(branch, index, bundle));
  if (PagePtr page = kept(ref)) co_return page;
  std::uint64_t end = ref.offset + ref.stored;
  for (std::size_t next = index + 1; next < branch.size(); ++next) {
    const PageRef sibling = CO_TRY(child_ref(branch, next, bundle));
    const std::uint64_t sibling_end = sibling.offset + sibling.stored;
    const bool follows = sibling.bundle == ref.bundle && sibling.offset >= end;
    if (!follows || sibling_end > ref.offset + kNeighbourBytesMax) break;
    end = sibling_end;
  }
  co_return co_await load_with(ref, ref.offset, end);
}

Async<PagePtr> StorePages::load_with(PageRef ref, std::uint64_t begin, std::uint64_t end) {
  if (PagePtr page = kept(ref)) co_return page;
  std::optional<HeldBytes> held = fetched_.find({ref.bundle, ref.offset, ref.stored});
  std::string stored;
  if (!held) stored = CO_TRY(co_await read_stored(ref, begin, end));
  Result<Page> read = read_page(ref, held ? std::string_view(held->bytes) : stored, check_);
  // Bytes may have been changed on their way; the store is asked once more.
  if (!read.ok() && read.error().code == Errc::kCorrupt) {
    stored = CO_TRY(co_await read_stored(ref, ref.offset, ref.offset + ref.stored));
    read = read_page(ref, stored, check_);
  }
  auto page = std::make_shared<const Page>(CO_TRY(std::move(read)));
  pages_.keep({ref.bundle, ref.offset}, page, page->memory());
  co_return page;
}

Async<std::string> StorePages::read_stored(PageRef ref, std::uint64_t begin, std::uint64_t end) {
  const std::string key = prefix_ + bundle_key(ref.bundle);
  if (end - begin > ref.stored) {
    auto range = std::make_shared<std::string>(end - begin, '\0');
    const Result<void> fetched =
        co_await store_.read(key, "", static_cast<std::int64_t>(begin), *range, stop_);
    if (fetched.ok()) {
      fetched_.keep(ref.bundle, begin, {range, *range});
      co_return range->substr(ref.offset - begin, ref.stored);
    }
    // A bundle that is cut short may still have the page.
    if (fetched.error().code != Errc::kCorrupt) co_return fetched.error();
  }
  std::string stored(ref.stored, '\0');
  CO_TRY(co_await store_.read(key, "", static_cast<std::int64_t>(ref.offset), stored, stop_));
  co_return stored;
}

}  // namespace runnel::volume
