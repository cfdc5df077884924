#include "fuse/mount_resources.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "env/clock.h"
#include "env/random.h"

namespace runnel::fuse {

using volume_server::MountRequest;

namespace {

// Everything by which a store is reached.
std::string key_of_store(const MountRequest& request) {
  std::vector<std::string> variables = request.environment;
  std::sort(variables.begin(), variables.end());
  std::string key = request.store;
  for (const std::string& variable : variables) key += '\n' + variable;
  return key;
}

std::string key_of_packs(const MountRequest& request, const std::string& uuid) {
  return key_of_store(request) + "\n\n" + request.volume + '\n' + uuid + '\n' + request.cache;
}

// Variables of AWS are the request's, all others this process's own.
object::VariableOf variables_of(const MountRequest& request) {
  return [environment = request.environment](const std::string& name) {
    if (!name.starts_with("AWS_")) return object::OpenedStore::own_variable(name);
    for (const std::string& each : environment) {
      const bool is_it = each.starts_with(name + "=") && each.size() > name.size() + 1;
      if (is_it) return std::optional(each.substr(name.size() + 1));
    }
    return std::optional<std::string>();
  };
}

}  // namespace

Async<MountResources::Store*> MountResources::hold_store(MountRequest request) {
  const std::string key = key_of_store(request);
  while (!stores_.contains(key)) {
    auto opened = CO_TRY(co_await object::OpenedStore::open_beside(
        loop_, env::real_clock(), env::real_random(),
        CO_TRY(object::parse_store_url(request.store)), object::KeyRule::kEveryStore,
        variables_of(request)));
    if (stores_.contains(key)) {  // Another request was faster.
      MUST(co_await opened->stop());
      continue;
    }
    auto others = std::make_unique<object::OpenedBuckets>(
        loop_, env::real_clock(), env::real_random(), variables_of(request));
    stores_.emplace(key, Store{std::move(opened), std::move(others), 0});
  }
  Store& held = stores_.at(key);
  ++held.users;
  co_return &held;
}

Async<void> MountResources::release_store(const MountRequest& request) {
  const auto found = stores_.find(key_of_store(request));
  CHECK(found != stores_.end(), "a store is released that nobody holds");
  if (--found->second.users > 0) co_return {};
  const auto last = stores_.extract(found);
  const Result<void> stopped = co_await last.mapped().others->stop();
  CO_TRY(co_await last.mapped().opened->stop());
  co_return stopped;
}

Async<volume::DiskCache*> MountResources::hold_disk(const MountRequest& request) {
  if (!disks_.contains(request.cache)) {
    auto opened = CO_TRY(co_await volume::DiskCache::open(
        loop_, {request.cache, Bytes::count(request.cache_bytes)}));
    disks_.emplace(request.cache, Disk{std::move(opened), 0});
  }
  Disk& held = disks_.at(request.cache);
  ++held.users;
  co_return held.cache.get();
}

Async<void> MountResources::release_disk(const MountRequest& request) {
  const auto found = disks_.find(request.cache);
  CHECK(found != disks_.end(), "a cache on the disk is released that nobody holds");
  if (--found->second.users > 0) co_return {};
  const auto last = disks_.extract(found);
  co_return co_await last.mapped().cache->close();
}

template <typename T>
Async<T> MountResources::in_turn(std::string folder, Async<T> work) {
  while (busy_.contains(folder)) CO_TRY(co_await turn_ended_.wait());
  busy_.insert(folder);
  Result<T> done = co_await std::move(work);
  busy_.erase(folder);
  turn_ended_.notify_all();
  co_return done;
}

Async<volume::DiskCache*> MountResources::hold_cache(const MountRequest& request) {
  return in_turn(request.cache, hold_disk(request));
}

Async<void> MountResources::release_cache(const MountRequest& request) {
  return in_turn(request.cache, release_disk(request));
}

Async<volume::PackCache*> MountResources::hold_packs(MountRequest request, std::string uuid,
                                                     volume::RangeReader ranges) {
  volume::DiskCache* disk = nullptr;
  if (!request.cache.empty()) disk = CO_TRY(co_await hold_cache(request));
  CHECK(stores_.contains(key_of_store(request)), "the packs of a store that nobody holds");
  Packs& held = packs_[key_of_packs(request, uuid)];
  if (!held.cache) {
    held.cache = std::make_unique<volume::PackCache>(
        loop_, std::move(ranges),
        volume::PackCache::Options{
            .memory = memory_, .disk = disk, .volume = volume::volume_key_of(uuid)},
        async::StopToken());
  }
  held.cache->set_readers(++held.users);
  co_return held.cache.get();
}

Async<void> MountResources::release_packs(MountRequest request, std::string uuid) {
  const auto found = packs_.find(key_of_packs(request, uuid));
  CHECK(found != packs_.end(), "packs are released that nobody holds");
  if (--found->second.users > 0) {
    found->second.cache->set_readers(found->second.users);
  } else {
    const auto last = packs_.extract(found);
    MUST(co_await last.mapped().cache->close());
  }
  if (!request.cache.empty()) CO_TRY(co_await release_cache(request));
  co_return {};
}

}  // namespace runnel::fuse
