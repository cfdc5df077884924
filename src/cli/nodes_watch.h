#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "async/abandonable_call.h"
#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "cli/home.h"
#include "control/api.h"
#include "env/files.h"
#include "model/node.h"

namespace runnel::cli {

// Sees when the home's nodes.yaml names other nodes than those in force.
//
// Contract: looks every kEvery. `on_change` is called with the nodes of a file that is another than
//           before and can be used; of one that cannot problem() tells where and why until it is
//           mended, and the nodes in force stay.
// Threads:  the loop's only; the file is read on a thread of its own, since its disk may hang.
// Lifetime: run() in a gate that is closed before destruction.
class NodesWatch {
 public:
  static constexpr Duration kEvery = Duration::millis(500);
  using OnChange = std::function<void(std::vector<model::NodeInfo>)>;

  NodesWatch(async::EventLoop& loop, Home home, std::vector<model::NodeInfo> in_force,
             OnChange on_change)
      : loop_(loop),
        home_(std::move(home)),
        in_force_(std::move(in_force)),
        on_change_(std::move(on_change)) {}

  Async<void> run(async::StopToken stop);
  const std::optional<control::Silence>& problem() const { return problem_; }

 private:
  // Which file it is; nothing where there is none.
  struct Stamp {
    env::FileId id;
    Bytes size;
    Time modified;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Look {
    std::optional<Stamp> stamp;
    std::optional<Result<std::vector<model::NodeInfo>>> nodes;  // Of a file that is another.
  };

  static std::optional<Stamp> stamp_of(const Home& home);
  Result<void> begin();
  void take(Look look);

  async::EventLoop& loop_;
  Home home_;
  std::vector<model::NodeInfo> in_force_;
  OnChange on_change_;
  std::optional<Stamp> seen_;
  std::optional<control::Silence> problem_;
  std::optional<async::AbandonableCall> call_;  // While it is looked at.
};

}  // namespace runnel::cli
