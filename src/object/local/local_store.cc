#include "object/local/local_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace runnel::object {

Result<std::unique_ptr<LocalStore>> LocalStore::open(async::EventLoop& loop,
                                                     const std::string& path) {
  ObjectFolder folder = TRY(ObjectFolder::open(path));
  Workers workers;
  TRY(add_workers(loop, workers));
  return std::unique_ptr<LocalStore>(new LocalStore(loop, std::move(folder), std::move(workers)));
}

Async<std::unique_ptr<LocalStore>> LocalStore::open_beside(async::EventLoop& loop,
                                                           std::string path) {
  Workers workers;
  CO_TRY(add_workers(loop, workers));
  Result<ObjectFolder> folder =
      co_await workers.front()->run([&path] { return ObjectFolder::open(path); });
  if (!folder.ok()) {
    for (const auto& worker : workers) MUST(co_await worker->stop());
    co_return folder.error();
  }
  co_return std::unique_ptr<LocalStore>(
      new LocalStore(loop, *std::move(folder), std::move(workers)));
}

// One at least; a machine without threads to spare has fewer than it might.
Result<void> LocalStore::add_workers(async::EventLoop& loop, Workers& workers) {
  const async::WorkerOptions options{.name = "object-local", .queued_max = kCallsMax};
  workers.push_back(TRY(async::Worker::create(loop, options)));
  while (workers.size() < kWorkers) {
    Result<std::unique_ptr<async::Worker>> more = async::Worker::create(loop, options);
    if (!more.ok()) break;
    workers.push_back(*std::move(more));
  }
  return {};
}

LocalStore::~LocalStore() = default;

class LocalStore::Turn {
 public:
  explicit Turn(RequestWindow& calls) : calls_(&calls) {}
  Turn(Turn&& other) noexcept : calls_(std::exchange(other.calls_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (calls_ != nullptr) calls_->leave();
  }

 private:
  RequestWindow* calls_;
};

Async<LocalStore::Turn> LocalStore::take_turn(async::StopToken stop) {
  CO_TRY(stop.check());
  CO_TRY(co_await calls_.enter(std::move(stop)));
  co_return Turn(calls_);
}

async::Worker& LocalStore::worker() {
  const auto least = std::min_element(
      workers_.begin(), workers_.end(),
      [](const auto& one, const auto& other) { return one->queued() < other->queued(); });
  return **least;
}

Async<Object> LocalStore::get(std::string key, std::int64_t limit, async::StopToken stop) {
  const Turn turn = CO_TRY(co_await take_turn(std::move(stop)));
  co_return co_await worker().run([&] { return folder_.get(key, limit); });
}

Async<void> LocalStore::read(std::string key, std::string stamp, std::int64_t offset,
                             std::span<char> into, async::StopToken stop) {
  CHECK(!into.empty() && offset >= 0, "a read of nothing, or from before the object");
  const Turn turn = CO_TRY(co_await take_turn(std::move(stop)));
  co_return co_await worker().run([&] { return folder_.read(key, stamp, offset, into); });
}

Async<std::string> LocalStore::put(std::string key, Body bytes, Condition condition,
                                   async::StopToken stop) {
  const Turn turn = CO_TRY(co_await take_turn(std::move(stop)));
  co_return co_await worker().run([&] { return folder_.put(key, *bytes, condition); });
}

Async<void> LocalStore::remove(std::string key, async::StopToken stop) {
  const Turn turn = CO_TRY(co_await take_turn(std::move(stop)));
  co_return co_await worker().run([&] { return folder_.remove(key); });
}

Async<ListPage> LocalStore::list(std::string prefix, std::string after, async::StopToken stop) {
  const Turn turn = CO_TRY(co_await take_turn(std::move(stop)));
  co_return co_await worker().run([&] { return folder_.list(prefix, after); });
}

Async<void> LocalStore::give_up_reserve() {
  const Turn turn = CO_TRY(co_await take_turn({}));
  co_return co_await worker().run([&]() -> Result<void> {
    folder_.give_up_reserve();
    return {};
  });
}

Async<void> LocalStore::stop() {
  for (const auto& worker : workers_) MUST(co_await worker->stop());
  co_return {};
}

}  // namespace runnel::object
