#include "volume/copy_between.h"

#include <memory>
#include <set>
#include <utility>

#include "volume/kept_session.h"
#include "volume/volume_source.h"

namespace runnel::volume {
namespace {

Async<PutResult> put_snapshot(async::EventLoop& loop, Volume& from, Snapshot& snapshot,
                              std::string path, std::string name, Volume& to, PutOptions options,
                              async::StopToken stop) {
  Snapshot::Found found = CO_TRY(co_await snapshot.at(path));
  auto source =
      std::make_unique<VolumeSource>(loop, from, snapshot, std::move(found), std::move(name), stop);
  co_return co_await put_from(loop, to, std::move(source), std::move(options), std::move(stop));
}

}  // namespace

Async<PutResult> copy_between(async::EventLoop& loop, Volume& from, std::string version,
                              std::string path, std::string name, Volume& to, PutOptions options,
                              async::StopToken stop) {
  Snapshot snapshot =
      CO_TRY(co_await from.begin_reading(from.processes().this_one("cp"), std::move(version)));
  co_return co_await with_session<PutResult>(
      loop, from, [] { return std::set<std::string>(); },
      [&](async::StopToken token) {
        return put_snapshot(loop, from, snapshot, std::move(path), std::move(name), to,
                            std::move(options), std::move(token));
      },
      std::move(stop));
}

}  // namespace runnel::volume
