#include "volume/layered_store.h"

#include <utility>

#include "base/check.h"
#include "object/refusals.h"

namespace runnel::volume {

using object::Object;

LayeredStore::LayeredStore(object::ObjectStore& inner, std::vector<std::string> prefixes)
    : ForwardingStore(inner), prefixes_(std::move(prefixes)) {
  CHECK(prefixes_.size() > 1, "a store of layers has a volume and those that it comes of");
}

bool LayeredStore::is_shared(const std::string& key) const {
  const std::string& own = prefixes_.front();
  return key.starts_with(own + "p/") || key.starts_with(own + "i/");
}

// Where none has it, the error is of the clone's own key.
template <typename T, typename Call>
Async<T> LayeredStore::first_found(std::string key, Call call) {
  if (!is_shared(key)) co_return co_await call(key);
  const std::string rest = key.substr(prefixes_.front().size());
  const std::size_t first = last_;
  Result<T> found = co_await call(prefixes_[first] + rest);
  for (std::size_t layer = prefixes_.size(); layer-- > 0;) {
    if (found.ok() || found.error().code != Errc::kNotFound) co_return found;
    if (layer == first) continue;
    found = co_await call(prefixes_[layer] + rest);
    if (found.ok()) last_ = layer;
  }
  const bool is_missing = !found.ok() && found.error().code == Errc::kNotFound;
  if (is_missing) co_return object::no_object(name(), key);
  co_return found;
}

Async<Object> LayeredStore::get(std::string key, std::int64_t limit, async::StopToken stop) {
  const auto call = [&](std::string at) { return inner().get(std::move(at), limit, stop); };
  co_return co_await first_found<Object>(std::move(key), call);
}

Async<void> LayeredStore::read(std::string key, std::string stamp, std::int64_t offset,
                               std::span<char> into, async::StopToken stop) {
  const auto call = [&](std::string at) {
    return inner().read(std::move(at), stamp, offset, into, stop);
  };
  co_return co_await first_found<void>(std::move(key), call);
}

}  // namespace runnel::volume
