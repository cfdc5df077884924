#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "async/event_loop.h"
#include "async/socket.h"
#include "cli/mount_log.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/volume_commands.h"
#include "env/file_lock.h"
#include "fuse/mount_server.h"
#include "home/pause.h"
#include "runner/memory_limit.h"

namespace runnel::cli {
namespace {

// A thread that hangs in a file system which does not answer is left: the next server asks again
// what this one has not answered.
constexpr Duration kServerEndsWithin = Duration::seconds(5);
constexpr Duration kServerLookEvery = Duration::millis(20);

// The right to serve, once the server before this one has ended. None when there is one that
// serves: of several that are started at once one stays.
Result<std::optional<env::FileLock>> become_the_server(const home::Home& home) {
  for (Duration waited; waited <= kServerEndsWithin * 2; waited = waited + kServerLookEvery) {
    Result<env::FileLock> lock = env::FileLock::acquire(home.mounts_lock());
    if (lock.ok()) return std::optional(*std::move(lock));
    if (lock.error().code != Errc::kConflict) return std::move(lock).error();
    if (async::connect_unix(home.mounts_socket()).ok()) break;
    home::pause(kServerLookEvery);
  }
  return std::optional<env::FileLock>();
}

// It serves others than who has started it: what that one has limited itself to is lifted as far as
// it may be.
void lift_limits() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(resource, &limit);
  }
}

}  // namespace

Result<int> serve_volumes(const home::Home& home) {
  if (says_to_mount_log(home)) date_lines();
  runner::leave_memory_group();
  lift_limits();
  const std::optional<env::FileLock> lock = TRY(become_the_server(home));
  if (!lock) return 0;
  const auto loop = TRY(async::EventLoop::create());
  fuse::MountServer server(*loop, home.mounts_socket(), [](const std::string& sentence) {
    say("runnel: " + printable(sentence));
  });
  async::StopSource stop;
  async::Timer given_up(*loop);
  TRY(loop->on_signal(SIGTERM, [&] {
    stop.stop();
    given_up.start(kServerEndsWithin, [] { ::_exit(0); });
  }));
  const Result<void> served = loop->block_on(server.run(stop.token()));
  if (served.ok()) return 0;
  // One of an earlier build, which holds no lock.
  const bool has_another =
      served.error().code == Errc::kConflict && async::connect_unix(home.mounts_socket()).ok();
  return has_another ? Result<int>(0) : served.error();
}

}  // namespace runnel::cli
