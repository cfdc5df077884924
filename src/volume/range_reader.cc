#include "volume/range_reader.h"

#include <utility>

namespace runnel::volume {
namespace {

Error was_replaced(const LinkedObject& object) {
  const std::string name = object.store + "/" + object.key;
  return Error(Errc::kCorrupt, name + " is another object than the one that was linked")
      .with_value(name)
      .with_hint("make a version with those of today: runnel volume import --link");
}

}  // namespace

Async<void> RangeReader::read(ObjectRange range, std::span<char> into,
                              async::StopToken stop) const {
  if (range.linked) co_return co_await read_linked(std::move(range), into, std::move(stop));
  co_return co_await store_->read(prefix_ + pack_key(range.object), "",
                                  static_cast<std::int64_t>(range.offset), into, std::move(stop));
}

Async<void> RangeReader::read_linked(ObjectRange range, std::span<char> into,
                                     async::StopToken stop) const {
  const LinkedObject& object = *range.linked;
  if (others_ == nullptr) {
    co_return Error(Errc::kUnsupported, "objects of other buckets are not read here")
        .with_value(object.store);
  }
  // By its bucket: there may be a link for each day's prefix.
  object::StoreUrl bucket = CO_TRY(object::parse_store_url(object.store));
  const std::string prefix = std::exchange(bucket.prefix, "");
  object::ObjectStore* const store = CO_TRY(others_->find(bucket));
  const std::string key = prefix.empty() ? object.key : prefix + "/" + object.key;
  Result<void> read = co_await store->read(
      key, object.stamp, static_cast<std::int64_t>(range.offset), into, std::move(stop));
  const bool is_other = !read.ok() && read.error().code == Errc::kPrecondition;
  if (is_other) co_return was_replaced(object);
  co_return read;
}

}  // namespace runnel::volume
