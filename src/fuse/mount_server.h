#pragma once

#include <functional>
#include <string>

#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "base/units.h"
#include "fuse/mount_resources.h"
#include "fuse/serve_mount.h"
#include "volume/volume.h"
#include "volume_server/mount_request.h"

namespace runnel::fuse {

// Serves all mounts of a home: whoever holds one hands it over by a socket. Who wants something in
// the cache of these mounts asks there, too, and so does whoever reads packs without a mount.
//
// Contract: a mount is served until it is no more, also when its holder is gone; its holder is told
//           when it is served, and how that ended. Requests of other users are refused. run()
//           returns once nothing has been served for kIdle, or at `stop`: then what is served is
//           left to the next server. Who connects has kRequestPatience to ask for a mount, and
//           keeps nothing going before that. With as many files open as the process may have it
//           goes on, and looks each kNoRoomPause whether there is room for the next mount.
// Threads:  the loop's only.
// Lifetime: run() ends before destruction.
class MountServer {
 public:
  static constexpr Duration kIdle = Duration::seconds(2);
  static constexpr Duration kRequestPatience = Duration::seconds(10);
  static constexpr Duration kNoRoomPause = Duration::millis(200);

  // `say` gets a sentence about each cause of errors that readers get.
  MountServer(async::EventLoop& loop, std::string socket,
              std::function<void(const std::string&)> say);
  // kConflict when another one serves already.
  Async<void> run(async::StopToken stop);

 private:
  Async<void> accept_until_idle(int listener);
  Result<void> accept_all(int listener);
  void accept(async::UniqueFd connection);
  Async<void> wait_for_room(Error error);
  Async<void> serve(async::UniqueFd connection);
  Async<void> serve_counted(int connection, volume_server::HandedMount mount);
  Async<void> serve_handed(int connection, volume_server::HandedMount mount);
  Async<void> serve_from(int connection, volume_server::HandedMount& mount,
                         MountResources::Store& store);
  Async<void> serve_volume(int connection, volume_server::HandedMount& mount,
                           volume::Volume& volume);
  Async<void> serve_packs(int connection, volume_server::MountRequest request,
                          volume::Volume& volume);
  Async<void> serve_by(volume::Volume& volume, volume::PackCache& packs, ServeOptions options,
                       const volume_server::MountRequest& request);
  void tell_error(int connection, const volume_server::MountRequest& request,
                  const std::string& sentence, bool is_damage) const;
  Async<void> warm_up(int connection, const volume_server::MountRequest& request,
                      volume::Volume& volume);
  Async<volume::WarmUp> warm_up_for(int connection, volume_server::MountRequest request,
                                    volume::Volume& volume, volume::DiskCache& cache);
  void begin_mount();
  void end_mount();

  async::EventLoop& loop_;
  const std::string socket_;
  const std::function<void(const std::string&)> say_;
  MountResources resources_;
  async::StopSource idle_;
  async::Timer until_idle_;
  async::Gate serving_;
  int mounts_ = 0;
  bool has_room_ = true;  // For the next connection, as far as it is known.
};

}  // namespace runnel::fuse
