#include "volume/stat.h"

#include <set>

#include "volume/fetch_plan.h"

namespace runnel::volume {
namespace {

constexpr double kMonthOfGb = 0.023;
constexpr double kPut = 0.005 / 1'000;
constexpr double kRead = 0.0004 / 1'000;
constexpr double kGb = 1e9;

void count(VolumeStat& stat, std::string_view key, std::int64_t size) {
  constexpr auto kFetch = static_cast<std::int64_t>(kFetchBytesMax);
  ++stat.objects;
  stat.stored_bytes += size;
  if (key.starts_with("s/")) ++stat.sessions;
  if (!key.starts_with("p/")) return;
  ++stat.packs;
  stat.pack_bytes += size;
  stat.reads += (size + kFetch - 1) / kFetch;
}

}  // namespace

Async<VolumeStat> stat_volume(Volume& volume, async::StopToken stop) {
  VolumeStat stat;
  stat.newest = CO_TRY(co_await volume.snapshot("latest")).manifest().totals;
  std::set<std::string> versions;
  for (const VersionPlace& place : volume.head().recent) versions.insert(place.version);
  for (const auto& [name, place] : volume.head().tags) versions.insert(place.version);
  stat.versions = std::ssize(versions);
  stat.may_have_links = volume.head().may_have_links();
  const std::string prefix = volume.prefix();
  for (std::string after;;) {
    object::ListPage page = CO_TRY(co_await volume.store().list(prefix, after, stop));
    for (const object::Listed& object : page.objects) {
      count(stat, std::string_view(object.key).substr(prefix.size()), object.size);
    }
    if (!page.more) co_return stat;
    after = *std::move(page.more);
  }
}

StorePrice store_price(const VolumeStat& stat) {
  return {.month = static_cast<double>(stat.stored_bytes) / kGb * kMonthOfGb,
          .put_once = static_cast<double>(stat.objects) * kPut,
          .read_once = static_cast<double>(stat.reads) * kRead};
}

}  // namespace runnel::volume
