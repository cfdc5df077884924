#include "volume/pack_cache.h"

#include <algorithm>
#include <utility>

#include "async/either_stop.h"
#include "base/check.h"
#include "env/aligned_bytes.h"

namespace runnel::volume {
namespace {

// The part of a slot to be read from the disk for `wanted`: with what is around it, or all of what
// is wanted where that is more.
ObjectRange window_of(const CacheSlot& slot, const ObjectRange& wanted) {
  constexpr std::uint64_t kAlign = env::AlignedBytes::kAlign;
  const std::uint64_t from = wanted.offset - slot.range.offset;
  const std::uint64_t until = from + wanted.length;
  const bool is_large = wanted.length >= PackCache::kDiskWindow;
  const std::uint64_t unit = is_large ? kAlign : PackCache::kDiskWindow;
  const std::uint64_t begin = from / unit * unit;
  const std::uint64_t end = std::min((until + unit - 1) / unit * unit, slot.range.length);
  return {slot.range.object, slot.range.offset + begin, end - begin};
}

}  // namespace

PackCache::PackCache(async::EventLoop& loop, RangeReader ranges, Options options,
                     const async::StopToken& stop)
    : loop_(loop),
      reader_(std::move(ranges)),
      options_(std::move(options)),
      stop_(stop),
      bringing_(loop),
      ended_(loop),
      ranges_(options_.memory->packs) {}

Async<HeldBytes> PackCache::read(ObjectRange wanted, ObjectRange with, Urgency urgency,
                                 async::StopToken stop) {
  if (const auto here = ranges_.find(wanted)) co_return *here;
  RequestPtr request = on_its_way(wanted);
  if (request == nullptr) {
    request = make_request(wanted, with);
    request->file = kFileOfAnother;
    waiting_.push_back(request);
  }
  if (urgency == Urgency::kWaitedFor) prefer(request);
  begin_some();
  const async::EitherStop until(stop_.token(), stop);
  while (!request->ended) CO_TRY(co_await ended_.wait(until.token()));
  if (!request->error) {
    co_return request->bytes.part(wanted.offset - request->range.offset, wanted.length);
  }
  // A pack that is cut short may still have these.
  const bool is_cut = request->error->code == Errc::kCorrupt && !wanted.linked;
  if (!is_cut || request->range == wanted) co_return *request->error;
  co_return co_await fetch(wanted, {}, until.token());
}

bool PackCache::is_near(const ObjectRange& wanted) const {
  return ranges_.has(wanted) || on_its_way(wanted) != nullptr;
}

bool PackCache::has(const ObjectRange& wanted) const {
  return is_near(wanted) || (goes_to_disk(wanted) && options_.disk->has(options_.volume, wanted));
}

bool PackCache::goes_to_disk(const ObjectRange& range) const {
  return options_.disk != nullptr && !range.linked;
}

void PackCache::expect(const ObjectRange& range, Inode file) {
  if (is_near(range)) return;
  if (expected_bytes_ + range.length > memory().packs.size_max() / 2) return;
  RequestPtr request = make_request(range, range);
  request->file = file;
  waiting_.push_back(std::move(request));
  begin_some();
}

void PackCache::forget(Inode file) {
  for (auto request = waiting_.begin(); request != waiting_.end();) {
    if ((*request)->file != file) {
      ++request;
      continue;
    }
    expected_bytes_ -= (*request)->range.length;
    request = waiting_.erase(request);
  }
}

void PackCache::distrust(const ObjectRange& range) {
  ++counts_.distrusted;
  ranges_.drop(range);
  if (!goes_to_disk(range)) return;
  if (const auto slot = options_.disk->find(options_.volume, range)) options_.disk->drop(*slot);
}

Async<HeldBytes> PackCache::read_anew(ObjectRange range, async::StopToken stop) {
  distrust(range);
  const async::EitherStop until(stop_.token(), stop);
  HeldBytes bytes = CO_TRY(co_await fetch(range, {.freshness = Freshness::kAnew}, until.token()));
  keep(range, bytes);
  co_return bytes;
}

// It takes whole pages, however short it is.
void PackCache::keep(const ObjectRange& range, const HeldBytes& bytes) {
  const std::size_t taken = env::AlignedBytes::rounded(bytes.bytes.size());
  ranges_.keep(range.object, range.offset, bytes, taken);
}

void PackCache::set_readers(int count) {
  CHECK(count > 0, "a cache of packs that nobody reads by");
  requests_max_ = static_cast<std::size_t>(std::min(count * kRequestsMax, kRequestsOfAll));
}

Async<void> PackCache::close() {
  stop_.stop();
  waiting_.clear();
  co_return co_await bringing_.close();
}

// --- Requests.

PackCache::RequestPtr PackCache::on_its_way(const ObjectRange& wanted) const {
  const auto brings = [&wanted](const RequestPtr& each) { return each->range.covers(wanted); };
  for (const Requests* const requests : {&under_way_, &waiting_}) {
    const auto found = std::find_if(requests->begin(), requests->end(), brings);
    if (found != requests->end()) return *found;
  }
  return nullptr;
}

PackCache::RequestPtr PackCache::make_request(const ObjectRange& wanted, const ObjectRange& with) {
  auto request = std::make_shared<Request>();
  request->range = with;
  if (goes_to_disk(wanted)) request->slot = options_.disk->find(options_.volume, wanted);
  if (request->slot) request->range = window_of(*request->slot, wanted);
  expected_bytes_ += request->range.length;
  return request;
}

void PackCache::prefer(const RequestPtr& request) {
  const auto place = std::find(waiting_.begin(), waiting_.end(), request);
  if (place == waiting_.end() || request->file == kSomebodyWaits) return;
  waiting_.splice(behind_waited(), waiting_, place);
  request->file = kSomebodyWaits;
}

PackCache::Requests::iterator PackCache::behind_waited() {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [](const RequestPtr& each) { return each->file != kSomebodyWaits; });
}

void PackCache::begin_some() {
  while (!waiting_.empty() && under_way_.size() < requests_max_) {
    RequestPtr request = waiting_.front();
    if (!loop_.spawn(bringing_, bring(request)).ok()) return;  // Closed.
    under_way_.splice(under_way_.end(), waiting_, waiting_.begin());
  }
}

Async<void> PackCache::bring(RequestPtr request) {
  Result<HeldBytes> bytes = co_await bytes_of(request);
  if (bytes.ok()) {
    request->bytes = *std::move(bytes);
    keep(request->range, request->bytes);
  } else {
    request->error = bytes.error();
  }
  request->ended = true;
  under_way_.remove(request);
  expected_bytes_ -= request->range.length;
  ended_.notify_all();
  begin_some();
  co_return {};
}

Async<HeldBytes> PackCache::bytes_of(RequestPtr request) {
  // Its segment may have been emptied while the request had to wait.
  const auto slot = request->slot ? options_.disk->find(options_.volume, request->range)
                                  : std::optional<CacheSlot>();
  if (slot) {
    const auto read = co_await options_.disk->read(*slot, request->range);
    if (read.ok()) {
      ++counts_.disk_reads;
      counts_.disk_bytes += static_cast<std::int64_t>(request->range.length);
      co_return HeldBytes{*read, (*read)->view()};
    }
    options_.disk->drop(*slot);
  }
  const bool is_waited_for = request->file == kSomebodyWaits;
  const Urgency urgency = is_waited_for ? Urgency::kWaitedFor : Urgency::kExpected;
  co_return co_await fetch(request->range, {.urgency = urgency}, stop_.token());
}

Async<HeldBytes> PackCache::fetch(ObjectRange range, PackServer::Wish wish, async::StopToken stop) {
  const auto bytes = std::make_shared<env::AlignedBytes>(range.length);
  CO_TRY(co_await fetch_into(range, bytes->span(), wish, std::move(stop)));
  ++counts_.fetches;
  counts_.bytes += static_cast<std::int64_t>(range.length);
  if (goes_to_disk(range)) options_.disk->keep(options_.volume, range, bytes);
  co_return HeldBytes{bytes, bytes->view()};
}

// Keys of linked objects are the reader's own business.
Async<void> PackCache::fetch_into(ObjectRange range, std::span<char> into, PackServer::Wish wish,
                                  async::StopToken stop) {
  const bool is_asked = options_.server != nullptr && !range.linked;
  const bool is_fetched =
      is_asked && CO_TRY(co_await options_.server->read(range, into, wish, stop));
  if (is_fetched) co_return {};
  co_return co_await reader_.read(range, into, std::move(stop));
}

}  // namespace runnel::volume
