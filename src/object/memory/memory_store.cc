#include "object/memory/memory_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "object/key.h"
#include "object/refusals.h"

namespace runnel::object {

Async<Object> MemoryStore::get(std::string key, std::int64_t limit, async::StopToken stop) {
  CO_TRY(check_key(key, rule_));
  CO_TRY(stop.check());
  const auto found = objects_.find(key);
  if (found == objects_.end()) co_return no_object(name_, key);
  if (std::ssize(found->second.bytes) > limit) co_return is_larger(name_, key, limit);
  co_return found->second;
}

Async<void> MemoryStore::read(std::string key, std::string stamp, std::int64_t offset,
                              std::span<char> into, async::StopToken stop) {
  CHECK(!into.empty() && offset >= 0, "a read of nothing, or from before the object");
  CO_TRY(check_key(key, rule_));
  CO_TRY(stop.check());
  const auto found = objects_.find(key);
  if (found == objects_.end()) co_return no_object(name_, key);
  if (!stamp.empty() && found->second.etag != stamp) co_return was_replaced(name_, key);
  const std::string& bytes = found->second.bytes;
  const std::int64_t end = offset + std::ssize(into);
  if (end > std::ssize(bytes)) co_return is_shorter(name_, key, end);
  std::copy_n(bytes.begin() + offset, into.size(), into.begin());
  co_return {};
}

Async<std::string> MemoryStore::put(std::string key, Body bytes, Condition condition,
                                    async::StopToken stop) {
  CO_TRY(check_key(key, rule_));
  CO_TRY(stop.check());
  const auto found = objects_.find(key);
  if (condition.kind == Condition::Kind::kAbsent && found != objects_.end()) {
    co_return exists_already(name_, key);
  }
  if (condition.kind == Condition::Kind::kMatches) {
    if (found == objects_.end()) co_return no_object(name_, key);
    if (found->second.etag != condition.etag) co_return was_replaced(name_, key);
  }
  std::string etag = "\"" + std::to_string(++puts_) + "\"";
  objects_[key] = {*bytes, etag};
  co_return etag;
}

Async<void> MemoryStore::remove(std::string key, async::StopToken stop) {
  CO_TRY(check_key(key, rule_));
  CO_TRY(stop.check());
  objects_.erase(key);
  co_return {};
}

Async<ListPage> MemoryStore::list(std::string prefix, std::string after, async::StopToken stop) {
  CO_TRY(stop.check());
  ListPage page;
  auto each = after < prefix ? objects_.lower_bound(prefix) : objects_.upper_bound(after);
  for (; each != objects_.end(); ++each) {
    if (!each->first.starts_with(prefix)) break;
    if (page.objects.size() == kListPageMax) {
      page.more = page.objects.back().key;
      break;
    }
    const Object& object = each->second;
    page.objects.push_back({each->first, std::ssize(object.bytes), object.etag, {}});
  }
  co_return page;
}

}  // namespace runnel::object
