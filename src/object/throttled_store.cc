#include "object/throttled_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace runnel::object {

ThrottledStore::ThrottledStore(async::EventLoop& loop, env::Clock& clock, ObjectStore& inner,
                               Bytes per_second)
    : ForwardingStore(inner), loop_(loop), clock_(clock), per_second_(per_second.count()) {
  CHECK(per_second_ > 0, "a link that carries nothing");
}

Async<void> ThrottledStore::carry(std::int64_t bytes, async::StopToken stop) {
  const Micros now = Micros::of(clock_.boot());
  const Micros length = Micros::count(bytes * 1'000'000 / per_second_);
  free_at_ = std::max(free_at_, now) + length;
  const Duration wait = (Micros::count(free_at_.count() - now.count())).in_millis();
  if (wait.is_zero()) co_return {};
  co_return co_await loop_.sleep(wait, std::move(stop));
}

Async<Object> ThrottledStore::get(std::string key, std::int64_t limit, async::StopToken stop) {
  Object object = CO_TRY(co_await inner().get(std::move(key), limit, stop));
  CO_TRY(co_await carry(std::ssize(object.bytes), std::move(stop)));
  co_return object;
}

Async<void> ThrottledStore::read(std::string key, std::string stamp, std::int64_t offset,
                                 std::span<char> into, async::StopToken stop) {
  CO_TRY(co_await inner().read(std::move(key), std::move(stamp), offset, into, stop));
  co_return co_await carry(std::ssize(into), std::move(stop));
}

Async<std::string> ThrottledStore::put(std::string key, Body bytes, Condition condition,
                                       async::StopToken stop) {
  CO_TRY(co_await carry(std::ssize(*bytes), stop));
  co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition),
                                 std::move(stop));
}

}  // namespace runnel::object
