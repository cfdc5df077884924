#include "volume/extent_reader.h"

#include <string_view>
#include <utility>

#include "volume/chunk_read.h"

namespace runnel::volume {

ExtentReader::ExtentReader(async::EventLoop& loop, RangeReader ranges, async::StopToken stop)
    : loop_(loop),
      ranges_(std::move(ranges)),
      stop_(std::move(stop)),
      requests_(loop),
      ended_(loop) {}

Async<std::vector<Result<std::string>>> ExtentReader::read(std::vector<Extent> extents) {
  const auto batch = std::make_shared<Batch>();
  batch->extents = std::move(extents);
  batch->chunks.reserve(batch->extents.size());
  for (const Extent& extent : batch->extents) {
    batch->chunks.emplace_back(std::string(extent.is_hole() ? extent.length : 0, '\0'));
  }
  for (Fetch& what : plan_fetches(batch->extents)) {
    while (under_way_ >= kRequestsMax) CO_TRY(co_await ended_.wait());
    CO_TRY(stop_.check());
    ++under_way_;
    ++batch->under_way;
    CO_TRY(loop_.spawn(requests_, fetch(std::move(what), batch)));
  }
  while (batch->under_way > 0) CO_TRY(co_await ended_.wait());
  CO_TRY(stop_.check());
  co_return std::move(batch->chunks);
}

Async<void> ExtentReader::fetch(Fetch what, std::shared_ptr<Batch> batch) {
  const Result<void> fetched = co_await fetch_range(what, *batch);
  for (const std::size_t index : what.extents) {
    Result<std::string>& chunk = batch->chunks[index];
    if (!fetched.ok()) chunk = fetched.error();
    // A pack that is cut short may still have the first ones, and what is damaged may have been
    // changed on its way.
    const bool is_object = batch->extents[index].linked != nullptr;
    if (!chunk.ok() && chunk.error().code == Errc::kCorrupt && !is_object) {
      chunk = co_await read_chunk(ranges_, batch->extents[index], stop_);
    }
  }
  --under_way_;
  --batch->under_way;
  ended_.notify_all();
  co_return {};
}

Async<void> ExtentReader::fetch_range(const Fetch& what, Batch& batch) {
  std::string bytes(what.range.length, '\0');
  CO_TRY(co_await ranges_.read(what.range, bytes, stop_));
  for (const std::size_t index : what.extents) {
    const Extent& extent = batch.extents[index];
    batch.chunks[index] = chunk_of(
        extent, std::string_view(bytes).substr(extent.offset - what.range.offset, extent.stored));
  }
  co_return {};
}

}  // namespace runnel::volume
