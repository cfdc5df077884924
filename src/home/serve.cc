#include "home/serve.h"

#include <memory>
#include <optional>
#include <string>

#include "async/event_loop.h"
#include "async/socket.h"
#include "async/turn_watch.h"
#include "env/clock.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "env/process.h"
#include "home/daemon.h"
#include "home/local_devices.h"
#include "home/nodes_watch.h"
#include "home/pause.h"
#include "home/place.h"
#include "home/python_package.h"
#include "http/message.h"

namespace runnel::home {
namespace {

// A daemon that is about to end still holds the lock for a moment, or for kCloseMax where it waits
// for a disk, and listens no more; a living one keeps it.
constexpr Duration kLockPatience = Duration::seconds(5);
constexpr Duration kEndPatience = Duration::seconds(20);
constexpr Duration kLockAgain = Duration::millis(10);

Result<env::FileLock> take_lock(const Home& home) {
  const Duration begun = env::real_clock().boot();
  for (;;) {
    Result<env::FileLock> lock = env::FileLock::acquire(home.lock());
    const bool held = !lock.ok() && lock.error().code == Errc::kConflict;
    const bool serves = held && async::connect_unix(home.socket()).ok();
    const Duration patience = serves ? kLockPatience : kEndPatience;
    if (!held || env::real_clock().boot() - begun > patience) return lock;
    pause(kLockAgain);
  }
}

// Tests ask for it: nothing may stand on the loop.
Result<std::unique_ptr<async::TurnWatch>> watch_turns(async::EventLoop& loop, const Say& say) {
  const std::optional<std::string> max = env::variable("RUNNEL_TURN_MAX");
  if (!max) return std::unique_ptr<async::TurnWatch>();
  const Duration turn_max = TRY(parse_duration(*max));
  return async::TurnWatch::start(loop, turn_max, [say](Duration stood, const std::string& where) {
    say("its loop answered nobody for " + human(stood) +
        (where == "0" ? "" : ", in " + where + " of the kernel"));
  });
}

Result<void> prepare_and_serve(const Home& home, const Say& say) {
  const std::string notice = TRY(prepare_home(home));
  if (!notice.empty()) say(notice);
  Result<env::FileLock> lock = take_lock(home);
  if (!lock.ok() && lock.error().code != Errc::kConflict) return lock.error();
  if (!lock.ok()) {
    return Error(Errc::kConflict,
                 "another daemon, process " + lock.error().value + ", serves this home")
        .with_value(home.root)
        .with_hint("use it: runnel ps; or end it: kill " + lock.error().value);
  }
  TRY(refuse_misplaced(home));
  keep_inodes(home);
  TRY(take_place(home));
  TRY(refuse_lost_log(home));
  NodesInForce nodes = read_nodes_in_force(home, TRY(device_command(home)));
  const Result<std::string> python_path = keep_python_package(home);
  // Only who imports it misses it, and is told so by Python.
  if (!python_path.ok()) say("the Python package: " + python_path.error().to_string());
  for (;;) {
    std::unique_ptr<async::EventLoop> loop = TRY(async::EventLoop::create());
    const std::unique_ptr<async::TurnWatch> turns = TRY(watch_turns(*loop, say));
    Daemon daemon(*loop, home, nodes, python_path.ok() ? *python_path : "", say);
    TRY(loop->block_on(daemon.run()));
    if (!daemon.next_nodes()) return {};
    nodes = *daemon.next_nodes();
    say("the nodes of the home are others: beginning anew with them");
  }
}

}  // namespace

Result<void> serve(const Home& home, const Say& say) {
  env::keep_files_private();
  Result<void> served = prepare_and_serve(home, say);
  // The process that started us will find the other daemon where there is one.
  if (served.ok() || served.error().code == Errc::kConflict) return served;
  // The process that started us waits for the socket or for this.
  const Result<void> told =
      env::write_file_atomically(home.failure(), http::problem(served.error()).body);
  if (!told.ok()) say(told.error().to_string());
  return served;
}

}  // namespace runnel::home
