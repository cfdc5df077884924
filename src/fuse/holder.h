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
#include "env/process.h"
#include "fuse/mount_point.h"
#include "object/retry_store.h"
#include "volume_server/mount_request.h"

namespace runnel::fuse {

// Keeps a mount while the process that serves it may die: it is handed over again, to the next one,
// over the same connection to the kernel, and who reads meanwhile waits.
//
// Contract: run() mounts, and returns once the mount is no more: unmounted by somebody, or because
//           it cannot be kept served; kConflict when the branch that it wrote is another one's.
//           Where nobody serves the mounts of the home it starts who does. SIGINT unmounts what
//           nobody uses; a second one, SIGTERM and SIGHUP unmount at once. A mount that cannot be
//           served at all is given up, and one whose server dies on a kernel that cannot send its
//           requests to another: that one stays, dead, since its readers are to get errors and no
//           empty folder.
// Threads:  the only one of its process, whose signals it takes.
// Lifetime: killed, it leaves its mount served; the mount ends with both.
class Holder {
 public:
  static constexpr std::size_t kStartsMax = 10;  // Servers that served it, in kStartsWithin.
  static constexpr Duration kStartsWithin = Duration::seconds(60);
  // So long after it was served, unless Options say otherwise.
  static constexpr Duration kServesWithin = Duration::seconds(120);
  // So long after it was handed over first: its server may ask a store that is away, and who waits
  // for the mount of a task waits longer.
  static constexpr Duration kFirstServesWithin = Duration::seconds(100);
  static_assert(kFirstServesWithin > object::kSilentMax);
  static constexpr Duration kPause = Duration::seconds(1);  // After one that could not serve it.
  // Of one that dies, the connection ends before its socket does.
  static constexpr Duration kDeathPause = Duration::millis(20);
  static constexpr Duration kLookEvery = Duration::seconds(1);
  static constexpr Duration kServerStartsWithin = Duration::seconds(10);

  struct Options {
    std::string source;
    // With a log it is a mount that is written to, which is served until all of it is published:
    // a server that dies before that is followed by another one.
    volume_server::MountRequest request;  // For its folder.
    std::string socket;                   // Of the server of mounts.
    env::DetachedProcess server;          // Starts one.
    std::function<void()> mounted;        // Called once it is served.
    std::function<void()> look;  // Called each kLookEvery, and may unmount; empty: nobody is.
    std::function<void(const std::string&)> say;
    // Called with each cause of errors that readers get, kUnread or kDamaged; empty: nobody hears.
    std::function<void(const volume_server::MountNews&)> reader_failed;
    // So long after it was served, it is to be served again: then the mount is given up, and who
    // waits gets an error.
    Duration serves_within = kServesWithin;
  };

  explicit Holder(Options options) : options_(std::move(options)) {}
  Result<void> run();

 private:
  Result<void> open();
  Result<void> hand_over();
  Result<void> hand_over_again();
  bool has_to_publish() const;
  Error not_published(const std::string& why) const;
  Result<async::UniqueFd> connect();
  Result<bool> take_event();  // False once the mount is no more.
  int patience() const;       // Milliseconds until there is something to do besides; -1: for ever.
  Result<bool> take_news();
  void take_serving();
  Result<void> take_signal();
  Result<bool> after_server(const std::string& what, bool has_said_why);
  std::optional<Duration> silent_at() const;  // When a server counts as one that will not serve.
  void unmount(Unmount how);
  std::size_t starts_within(Duration now);

  Options options_;
  std::unique_ptr<MountPoint> mount_;
  async::UniqueFd first_message_;
  async::UniqueFd signals_;
  async::UniqueFd server_;   // A connection to who serves it; empty: nobody does.
  bool serves_ = false;      // The server that is there.
  bool has_served_ = false;  // Any of them.
  Duration begun_at_;
  Duration died_at_;                  // The last one that has served.
  std::optional<Duration> start_at_;  // When it is handed over again.
  Duration handed_at_;
  bool has_ended_ = false;  // The mount, when a server of it did.
  int interrupts_ = 0;
  std::vector<Duration> starts_;
};

}  // namespace runnel::fuse
