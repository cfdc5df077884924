#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/unique_fd.h"
#include "base/result.h"
#include "base/units.h"
#include "fuse/mount_point.h"

namespace runnel::fuse {

// Keeps a mount while the process that serves it may die: it is started again over the same
// connection to the kernel, and who reads meanwhile waits.
//
// Contract: run() mounts, and returns once the mount is no more: unmounted by somebody, or because
//           its server cannot be kept alive. SIGINT unmounts what nobody uses; a second one,
//           SIGTERM and SIGHUP unmount at once. A server that dies before any has served is not
//           started again, nor one on a kernel that cannot send its requests to another.
// Threads:  the only one of its process, whose signals it takes.
// Lifetime: killed, it leaves its server serving; the mount ends with both.
class Holder {
 public:
  static constexpr std::size_t kStartsMax = 10;  // In kStartsWithin.
  static constexpr Duration kStartsWithin = Duration::seconds(60);
  // So long after one has served, another one is to serve: then the mount is given up, and who
  // waits gets an error.
  static constexpr Duration kServesWithin = Duration::seconds(120);
  static constexpr Duration kLookEvery = Duration::seconds(1);
  static constexpr Duration kPause = Duration::seconds(1);  // After one that did not serve.

  // Where a server finds what it needs.
  static constexpr int kConnection = 3;
  static constexpr int kFirstMessage = 4;
  static constexpr int kServing = 5;  // It writes a byte here.

  struct Options {
    std::string folder;
    std::string source;
    std::vector<std::string> server;  // Its words: argv[0] is a path.
    std::string takes_over;           // One more when it is not the first.
    std::function<void()> mounted;    // Called once it serves.
    std::function<void()> look;       // Called each kLookEvery, and may unmount; empty: nobody is.
    std::function<void(const std::string&)> say;
  };

  // In a server.
  static Result<std::string> first_message();

  explicit Holder(Options options) : options_(std::move(options)) {}
  Result<void> run();

 private:
  Result<void> open();
  Result<void> start();
  Result<bool> take_event();  // False once the mount is no more.
  int patience();             // Milliseconds until there is something to do besides; -1: for ever.
  void take_serving();
  Result<bool> take_signal();
  Result<bool> after_server(int status);
  void unmount(Unmount how);
  std::size_t starts_within(Duration now);

  Options options_;
  std::unique_ptr<MountPoint> mount_;
  async::UniqueFd first_message_;
  async::UniqueFd signals_;
  async::UniqueFd serving_;           // Where the server says that it serves; empty once it has.
  std::int64_t server_ = 0;           // Its pid.
  bool serves_ = false;               // The server that is there.
  bool has_served_ = false;           // Any of them.
  Duration died_at_;                  // The last one that has served.
  std::optional<Duration> start_at_;  // When the next one is started.
  int interrupts_ = 0;
  std::vector<Duration> starts_;
};

}  // namespace runnel::fuse
