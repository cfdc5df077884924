#include "object/metered_store.h"

#include <utility>

namespace runnel::object {

template <typename T>
Async<T> MeteredStore::measured(RequestMeter& meter, Async<T> call) {
  const Duration begin = clock_.boot();
  ++meter.requests;
  Result<T> result = co_await std::move(call);
  meter.time = meter.time + (clock_.boot() - begin);
  const bool answered = result.ok() || result.error().code == Errc::kNotFound ||
                        result.error().code == Errc::kPrecondition;
  if (!answered) ++meter.errors;
  co_return result;
}

Async<Object> MeteredStore::get(std::string key, std::int64_t limit, async::StopToken stop) {
  Object object =
      CO_TRY(co_await measured(meter_.get, inner().get(std::move(key), limit, std::move(stop))));
  meter_.get.bytes += std::ssize(object.bytes);
  co_return object;
}

Async<void> MeteredStore::read(std::string key, std::string stamp, std::int64_t offset,
                               std::span<char> into, async::StopToken stop) {
  CO_TRY(co_await measured(
      meter_.read, inner().read(std::move(key), std::move(stamp), offset, into, std::move(stop))));
  meter_.read.bytes += std::ssize(into);
  co_return {};
}

Async<std::string> MeteredStore::put(std::string key, Body bytes, Condition condition,
                                     async::StopToken stop) {
  const std::int64_t size = std::ssize(*bytes);
  std::string etag =
      CO_TRY(co_await measured(meter_.put, inner().put(std::move(key), std::move(bytes),
                                                       std::move(condition), std::move(stop))));
  meter_.put.bytes += size;
  co_return etag;
}

Async<void> MeteredStore::remove(std::string key, async::StopToken stop) {
  return measured(meter_.remove, inner().remove(std::move(key), std::move(stop)));
}

Async<ListPage> MeteredStore::list(std::string prefix, std::string after, async::StopToken stop) {
  return measured(meter_.list, inner().list(std::move(prefix), std::move(after), std::move(stop)));
}

}  // namespace runnel::object
