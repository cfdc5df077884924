#include "volume/link_source.h"

#include <utility>

#include "volume/object_entry.h"

namespace runnel::volume {

LinkSource::LinkSource(object::ObjectStore& store, std::string url, Time now, async::StopToken stop)
    : store_(store), url_(std::move(url)), now_(now), stop_(std::move(stop)) {}

Async<ReadBatch> LinkSource::next(async::Worker& /*worker*/) {
  ReadBatch batch;
  const object::ListPage page = CO_TRY(co_await store_.list("", after_, stop_));
  if (after_.empty() && page.objects.empty()) {
    co_return has_no_object(url_);
  }
  for (const object::Listed& object : page.objects) {
    if (is_mark_of_folder(object)) continue;
    batch.entries.push_back(CO_TRY(entry_of(object)));
  }
  batch.is_last = !page.more.has_value();
  after_ = page.more.value_or("");
  co_return batch;
}

Result<ReadEntry> LinkSource::entry_of(const object::Listed& object) const {
  ReadEntry entry = TRY(entry_of_object(object, store_.name(), now_));
  if (entry.node.kind != NodeKind::kFile) return entry;
  entry.node.size = static_cast<std::uint64_t>(object.size);
  entry.node.hash = hash::sha256("");
  if (entry.node.size == 0) return entry;
  const std::string name = url_ + "/" + object.key;
  if (object.stamp.empty()) {
    return Error(Errc::kUnsupported,
                 "the store tells no ETag of " + name + ", so nobody would see when it is replaced")
        .with_value(name)
        .with_hint("copy what it has instead: runnel volume import, without --link");
  }
  if (entry.node.size > LinkedObject::kBytesMax) {
    return Error(Errc::kInvalid, name + " has more than 256 GiB").with_value(name);
  }
  auto linked = std::make_shared<const LinkedObject>(LinkedObject{url_, object.key, object.stamp});
  entry.node.hash = linked_hash(*linked);
  entry.linked = std::move(linked);
  return entry;
}

}  // namespace runnel::volume
