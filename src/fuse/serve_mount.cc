#include "fuse/serve_mount.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "async/together.h"
#include "env/clock.h"
#include "fuse/file_service.h"
#include "fuse/version_requests.h"
#include "volume/kept_session.h"
#include "volume/pack_cache.h"
#include "volume/with_pack_cache.h"

namespace runnel::fuse {
namespace {

using volume::Snapshot;
using volume::Volume;

// A reader refers to nothing but the version that its session pins.
std::set<std::string> no_keys() { return {}; }

Async<void> serve_session(async::EventLoop& loop, FileService& service, ServeOptions& options,
                          async::StopToken stop) {
  const std::unique_ptr<KernelSession> session = CO_TRY(KernelSession::create(
      loop, std::move(options.connection), options.first_message, handlers_of(service)));
  if (options.takes_over) CO_TRY(session->ask_again());
  if (options.serving) options.serving();
  const Result<void> served = co_await session->serve(std::move(stop));
  MUST(co_await service.close());  // While the connection is open.
  co_return served;
}

Async<void> serve_snapshot(async::EventLoop& loop, const std::string& name, Snapshot& snapshot,
                           volume::PackCache& packs, ServeOptions& options, async::StopToken stop) {
  const Result<void> warmed = co_await volume::warm(snapshot);
  // Readers who wait for a mount that is taken over may do so until the store is back.
  if (!options.takes_over) CO_TRY(Result<void>(warmed));
  ErrorNotices notices(env::real_clock(), name, options.say);
  FileService service(loop, snapshot, packs, notices);
  const Result<void> served = co_await serve_session(loop, service, options, std::move(stop));
  MUST(co_await service.close());
  co_return served;
}

// The version, held by a session: that of the server before this one, as far as it is there.
Async<Snapshot> hold(Volume& volume, ServeOptions& options) {
  volume::SessionRecord who = volume.processes().this_one("mount");
  who.source = options.folder;
  if (options.takes_over) {
    std::optional<Snapshot> held = CO_TRY(co_await volume.go_on_reading(who, options.version));
    if (held) co_return *std::move(held);
  }
  co_return co_await volume.begin_reading(std::move(who), options.version);
}

Async<void> hold_into(std::optional<Snapshot>& held, Volume& volume, ServeOptions& options) {
  held.emplace(CO_TRY(co_await hold(volume, options)));
  co_return {};
}

// What is read first comes while the session is put. What goes wrong with it does so again when it
// is needed.
Async<void> read_ahead(Volume& volume, std::string version) {
  Result<Snapshot> snapshot = co_await volume.snapshot(std::move(version));
  if (snapshot.ok()) (void)co_await volume::warm(*snapshot);
  co_return {};
}

Async<Snapshot> begin(async::EventLoop& loop, Volume& volume, ServeOptions& options) {
  std::optional<Snapshot> held;
  std::vector<Async<void>> both;
  both.push_back(hold_into(held, volume, options));
  both.push_back(read_ahead(volume, options.version));
  CO_TRY(co_await async::when_all(loop, std::move(both)));
  co_return *std::move(held);
}

}  // namespace

Async<void> serve_mount(async::EventLoop& loop, Volume& volume, volume::PackCache& packs,
                        ServeOptions options, async::StopToken stop) {
  Snapshot snapshot = CO_TRY(co_await begin(loop, volume, options));
  co_return co_await volume::with_session<void>(
      loop, volume, no_keys,
      [&](async::StopToken token) {
        return serve_snapshot(loop, volume.name(), snapshot, packs, options, std::move(token));
      },
      std::move(stop));
}

}  // namespace runnel::fuse
