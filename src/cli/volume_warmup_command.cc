#include <memory>
#include <optional>
#include <utility>

#include "cli/cache_folder.h"
#include "cli/print.h"
#include "cli/transfer_line.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "home/volume_places.h"
#include "volume/warm_up.h"
#include "volume_server/ask_warm_up.h"
#include "volume_server/request_of_process.h"

namespace runnel::cli {
namespace {

void tell_warm(const Arguments& arguments, const VolumeTarget& target, const volume::WarmUp& done,
               const std::string& folder) {
  json::Value value = json::Value::object();
  value.set("volume", json::Value::text(target.name));
  value.set("version", json::Value::text(done.version));
  value.set("files", json::Value::integer(done.files));
  value.set("bytes", json::Value::integer(done.bytes));
  value.set("fetched_bytes", json::Value::integer(done.fetched));
  value.set("cache", json::Value::text(folder));
  answer(arguments, value,
         count_text(done.files, "file", "files") + " of " + target.name + "@" + done.version +
             " are in " + folder + ": " + human(Bytes::count(done.bytes)) + ", " +
             human(Bytes::count(done.fetched)) + " of it fetched now\n");
}

// Into a cache that nobody else has.
Result<volume::WarmUp> warm_up_here(VolumeClient& client, const VolumeTarget& target,
                                    const volume::DiskCache::Options& options,
                                    const volume::WarmUpProgress& progress) {
  volume::Volume opened = TRY(client.volume(target.name));
  const std::unique_ptr<volume::DiskCache> cache =
      TRY(client.run(volume::DiskCache::open(client.loop(), options)));
  Result<volume::WarmUp> done = client.run(volume::warm_up(
      client.loop(), opened, target.version_or_latest(), target.path, *cache, progress, {}));
  TRY(client.run(cache->close()));
  return done;
}

// The cache of mounts that are there has the server of the home's mounts.
Result<volume::WarmUp> warm_up(const Arguments& arguments, const home::Home& home,
                               const VolumeTarget& target,
                               const volume::DiskCache::Options& options,
                               const volume::WarmUpProgress& progress) {
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Result<volume::WarmUp> done = warm_up_here(*client, target, options, progress);
  if (done.ok() || !volume::is_taken_cache(done.error())) return done;
  const object::StoreUrl store = TRY(home::place_of_volume(home, target.name, arguments.store));
  volume_server::MountRequest request = volume_server::request_of_process(
      target.name, target.version_or_latest(), store.to_string(), options);
  request.warm_up = target.path;
  std::optional<volume::WarmUp> asked =
      TRY(volume_server::ask_warm_up(home.mounts_socket(), request, progress));
  return asked ? Result(*std::move(asked)) : std::move(done);
}

}  // namespace

Result<int> warm_volume_up(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const auto options = TRY(cache_of(arguments));
  if (!options) {
    return Error(Errc::kInvalid, "a warm-up fills a cache on the disk, and none is named")
        .with_field("cache")
        .with_hint("--cache DIR, as for the mount that will read it");
  }
  TransferLine line("warmup");
  const auto draw = [&line](const volume::WarmUp& now) {
    line.draw({now.files, now.bytes, std::nullopt});
  };
  const Result<volume::WarmUp> done = warm_up(arguments, home, target, *options, draw);
  line.clear();
  tell_warm(arguments, target, TRY(Result<volume::WarmUp>(done)), options->folder);
  return 0;
}

}  // namespace runnel::cli
