#include "library/open_version.h"

#include <set>
#include <string>

#include "async/event.h"
#include "base/check.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/open_store.h"
#include "object/opened_buckets.h"
#include "object/store_url.h"
#include "volume/kept_session.h"
#include "volume/with_pack_cache.h"
#include "volume_server/request_of_process.h"

namespace runnel::library {
namespace {

using volume::Snapshot;
using volume::Volume;

std::set<std::string> no_keys() { return {}; }

Snapshot without_files(Volume& volume) {
  volume::Manifest manifest;
  manifest.uuid = volume.head().uuid;
  return {volume.pages(), std::move(manifest)};
}

// The version by the manifest that another process holds.
Async<Snapshot> held_by_another(Volume& volume, Reference reference) {
  const volume::VersionPlace place{"", reference.manifest, 0};
  volume::Manifest manifest = CO_TRY(co_await volume.manifest_at(place));
  if (manifest.version != reference.version) {
    co_return Error(Errc::kNotFound, "the reference names a manifest of another version")
        .with_value(reference.manifest);
  }
  co_return Snapshot(volume.pages(), std::move(manifest));
}

// The version, held by a session of this process where that is possible.
Async<Snapshot> hold(Volume& volume, Reference reference) {
  if (reference.version.empty()) co_return without_files(volume);
  Result<Snapshot> held =
      co_await volume.begin_reading(volume.processes().this_one("reader"), reference.version);
  const bool is_dropped = !held.ok() && held.error().code == Errc::kNotFound;
  if (!is_dropped || reference.manifest.empty()) co_return std::move(held);
  co_return co_await held_by_another(volume, std::move(reference));
}

// What other processes are to open: no tag, and no beginning of an id. The manifest is the one that
// is held: the head may have another one of the version since.
void resolve(Reference& reference, Volume& volume, const Snapshot& snapshot) {
  reference.version = snapshot.manifest().version;
  if (volume.has_session()) {
    reference.manifest = volume.session().session().record().pin;
    return;
  }
  const Result<volume::VersionPlace> place = volume.place_of(reference.version);
  if (place.ok() && !reference.version.empty()) reference.manifest = place->key;
}

volume_server::MountRequest packs_of(const Opening& opening) {
  const Reference& reference = opening.reference;
  volume_server::MountRequest request = volume_server::request_of_process(
      reference.volume, reference.version, reference.store, opening.cache, opening.store_variables);
  request.reads_packs = true;
  request.format = volume_server::MountRequest::kPacksFormat;
  return request;
}

// None where another process has it.
Async<std::unique_ptr<volume::DiskCache>> open_free_cache(async::EventLoop& loop,
                                                          volume::DiskCache::Options options) {
  Result<std::unique_ptr<volume::DiskCache>> opened =
      co_await volume::DiskCache::open(loop, std::move(options));
  const bool is_taken = !opened.ok() && volume::is_taken_cache(opened.error());
  if (is_taken) co_return std::unique_ptr<volume::DiskCache>();
  co_return std::move(opened);
}

Async<void> stop_now(async::StopSource& stop) {
  stop.stop();
  co_return {};
}

}  // namespace

Result<std::shared_ptr<OpenVersion>> OpenVersion::open(Opening opening) {
  std::shared_ptr<OpenVersion> made(new OpenVersion(std::move(opening)));
  OpenVersion* const self = made.get();
  made->thread_ = TRY(async::LoopThread::start(
      "runnel-volume", [self](async::EventLoop& loop) { return self->serve(loop); }));
  TRY(made->opened_.take());
  return made;
}

OpenVersion::~OpenVersion() {
  if (thread_ != nullptr) tell(stop_);
}

// One that has ended needs not be told.
void OpenVersion::tell(async::StopSource& stop) {
  (void)thread_->call<void>([&stop] { return stop_now(stop); });
}

bool OpenVersion::end() {
  tell(stop_);
  if (thread_->wait_for_end(kPatience)) return true;
  tell(hurry_);
  return thread_->wait_for_end(kPatience).has_value();
}

Async<void> OpenVersion::serve(async::EventLoop& loop) {
  Result<void> served = co_await serve_store(loop);
  CHECK(is_open_ || !served.ok(), "a volume was closed before it was open");
  if (!is_open_) opened_.give(served);
  co_return served;
}

Async<void> OpenVersion::serve_store(async::EventLoop& loop) {
  const object::StoreUrl url = CO_TRY(object::parse_store_url(opening_.reference.store));
  const std::unique_ptr<object::OpenedStore> store =
      CO_TRY(object::OpenedStore::open(loop, env::real_clock(), env::real_random(), url));
  object::OpenedBuckets others(loop, env::real_clock(), env::real_random());
  const Result<void> served = co_await serve_volume(loop, store->store(), others);
  MUST(co_await others.stop());
  MUST(co_await store->stop());
  co_return served;
}

Async<void> OpenVersion::serve_volume(async::EventLoop& loop, object::ObjectStore& store,
                                      object::StoreFinder& others) {
  const volume::VolumeContext context{store,
                                      env::real_clock(),
                                      env::real_random(),
                                      hurry_.token(),
                                      &others,
                                      volume::real_processes(),
                                      std::make_shared<volume::ReaderMemory>(kPackBytes)};
  Volume volume = CO_TRY(co_await Volume::open(context, opening_.reference.volume));
  Snapshot snapshot = CO_TRY(co_await hold(volume, opening_.reference));
  co_return co_await volume::with_session<void>(
      loop, volume, no_keys,
      [&](async::StopToken stop) {
        return serve_snapshot(loop, volume, snapshot, std::move(stop));
      },
      stop_.token());
}

Async<void> OpenVersion::serve_snapshot(async::EventLoop& loop, Volume& volume, Snapshot& snapshot,
                                        async::StopToken stop) {
  const bool has_files = !snapshot.manifest().version.empty();
  if (has_files) CO_TRY(co_await volume::warm(snapshot));
  resolve(opening_.reference, volume, snapshot);
  if (!opening_.server) co_return co_await serve_packs(loop, volume, snapshot, nullptr, stop);
  volume_server::PackClient server(loop, *opening_.server, packs_of(opening_));
  const Result<void> served = co_await serve_packs(loop, volume, snapshot, &server, stop);
  MUST(co_await server.close());
  co_return served;
}

// A cache on the disk is its server's; without one it is that of the first process that wants it.
Async<void> OpenVersion::serve_packs(async::EventLoop& loop, Volume& volume, Snapshot& snapshot,
                                     volume_server::PackClient* server, async::StopToken stop) {
  const bool is_served = server != nullptr && CO_TRY(co_await server->connect(stop));
  std::unique_ptr<volume::DiskCache> disk;
  if (opening_.cache && !is_served) disk = CO_TRY(co_await open_free_cache(loop, *opening_.cache));
  const Result<void> served = co_await volume::with_pack_cache(
      loop, volume, snapshot, {.disk = disk.get(), .server = server},
      [&](volume::PackCache& cache) { return serve_reader(loop, snapshot, cache, stop); }, stop);
  if (disk) MUST(co_await disk->close());
  co_return served;
}

Async<void> OpenVersion::serve_reader(async::EventLoop& loop, Snapshot& snapshot,
                                      volume::PackCache& cache, async::StopToken stop) {
  VersionReader reader(snapshot, cache);
  async::Gate answering(loop);
  reader_ = &reader;
  answering_ = &answering;
  is_open_ = true;
  opened_.give({});
  async::Latch never(loop);
  const Result<void> stopped = co_await never.wait(std::move(stop));
  CHECK(!stopped.ok(), "a latch was opened that nobody opens");
  reader_ = nullptr;
  MUST(co_await answering.close());
  co_return {};
}

}  // namespace runnel::library
