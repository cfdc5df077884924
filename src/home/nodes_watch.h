#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/result.h"
#include "base/units.h"
#include "control/api/silence.h"
#include "env/files.h"
#include "home/home.h"
#include "home/local_devices.h"
#include "home/periodic_look.h"
#include "model/node.h"

namespace runnel::home {

// Which nodes.yaml it is: another one, whatever changed, has another stamp.
struct NodesStamp {
  std::string fault;  // Why it cannot be looked at; then the rest is empty.
  env::FileId id;
  Bytes size;
  Time modified;
  friend bool operator==(const NodesStamp&, const NodesStamp&) = default;
};
// Nothing where there surely is none. Links are followed.
std::optional<NodesStamp> nodes_stamp(const Home& home);

// The nodes that a daemon serves with, and the file that they are of.
struct NodesInForce {
  std::optional<NodesStamp> stamp;
  std::vector<model::NodeInfo> nodes;       // Empty while there is a problem.
  std::optional<control::Silence> problem;  // Why the file cannot be used.
  std::optional<FailedLook> failed_look;    // Why the devices of this machine are not known.
};
// `device_command`: see nodes_of_home().
NodesInForce read_nodes_in_force(const Home& home, const std::vector<std::string>& device_command);

// Sees when the nodes of the home are others than those in force.
//
// Contract: looks every kEvery. A file that is the same in two looks, and another than before, is
//           read: half of it may be written, and between two names it is not there. `on_change` is
//           called with its nodes when they are others than those in force; where it cannot be
//           used problem() tells where and why until it is mended, and the nodes in force stay.
//           Where there is no file, and a look at the devices of this machine failed, they are
//           looked for again when failed_look() holds no more.
// Threads:  the loop's only; the file is read on a thread of its own, since its disk may hang, and
//           the driver, too.
// Lifetime: run() in a gate that is closed before destruction.
class NodesWatch {
 public:
  static constexpr Duration kEvery = Duration::millis(500);
  using OnChange = std::function<void(NodesInForce)>;

  NodesWatch(async::EventLoop& loop, Home home, std::vector<std::string> device_command,
             NodesInForce in_force, OnChange on_change)
      : home_(std::move(home)),
        device_command_(std::move(device_command)),
        in_force_(std::move(in_force.nodes)),
        on_change_(std::move(on_change)),
        read_(in_force.stamp),
        seen_(std::move(in_force.stamp)),
        problem_(std::move(in_force.problem)),
        failed_look_(std::move(in_force.failed_look)),
        looks_(
            loop, "home-nodes", kEvery, [this] { return look(); },
            [this](Look look) { take(std::move(look)); }) {}
  NodesWatch(const NodesWatch&) = delete;
  NodesWatch& operator=(const NodesWatch&) = delete;

  Async<void> run(async::StopToken stop) { return looks_.run(std::move(stop)); }
  const std::optional<control::Silence>& problem() const { return problem_; }
  const std::optional<FailedLook>& failed_look() const { return failed_look_; }

 private:
  struct Look {
    std::optional<NodesStamp> stamp;
    std::optional<NodesInForce> file;  // Read when it is another and stands still, or anew.
  };

  std::function<Look()> look() const;
  void take(Look look);

  Home home_;
  const std::vector<std::string> device_command_;
  std::vector<model::NodeInfo> in_force_;
  OnChange on_change_;
  std::optional<NodesStamp> read_;  // The stamp of the file that was read last.
  std::optional<NodesStamp> seen_;  // In the last look.
  std::optional<control::Silence> problem_;
  std::optional<FailedLook> failed_look_;
  PeriodicLook<Look> looks_;
};

}  // namespace runnel::home
