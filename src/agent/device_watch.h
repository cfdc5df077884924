#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/device_census.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/worker.h"
#include "env/clock.h"
#include "model/node.h"
#include "model/quarantine.h"

namespace runnel::agent {

// Looks at the devices that the home's nodes declare, from time to time and when somebody who may
// have one failed.
//
// Contract: a look is the work of another process, on a worker, and takes no longer than
//           kAnswersWithin; who asks a driver that hangs is answered meanwhile, and it is left
//           alone for kLeftAlone. Where nothing is declared nobody looks.
// Threads:  the loop's, and a worker.
// Lifetime: start() .. stop(), which is awaited before destruction; run() ends before that.
class DeviceWatch {
 public:
  static constexpr Duration kEvery = Duration::seconds(10);
  static constexpr Duration kAnswersWithin = Duration::seconds(5);
  static constexpr Duration kLeftAlone = Duration::seconds(60);

  using Tell = std::function<void(const NodeId&, model::DeviceReport)>;

  // `command` prints a look (device_look.h); `file` keeps what was seen.
  DeviceWatch(async::EventLoop& loop, env::Clock& clock, std::vector<std::string> command,
              std::string file, const std::vector<model::NodeInfo>& nodes, Tell tell);

  Result<void> start();
  Async<void> stop();
  Async<void> run(async::StopToken stop);

  // Whether a look may explain why something failed.
  bool watches() const { return census_.watches() && looked_; }
  // One that begins after this is called, told before it returns; many who ask share it.
  Async<void> look_again(async::StopToken stop);
  // The findings of the last look; nothing when there was none.
  std::optional<model::DeviceReport> report(const NodeId& node) const {
    return census_.report(node);
  }
  std::vector<std::string> notices() const;

 private:
  struct Found {
    Result<DeviceLook> look;
    std::optional<std::vector<KnownDevice>> known;  // Known to earlier lives; at the first look.
  };
  Async<void> look();
  void take(Found found);
  Async<void> keep();

  async::EventLoop& loop_;
  env::Clock& clock_;
  const std::vector<std::string> command_;
  const std::string file_;
  std::vector<NodeId> nodes_;
  Tell tell_;
  std::unique_ptr<async::Worker> worker_;
  DeviceCensus census_;
  const std::vector<std::string> double_grants_;  // Sentences.
  std::optional<Error> trouble_;                  // Why the last look found nothing.
  bool looking_ = false;
  bool looked_ = false;     // At least once with an answer.
  bool keeps_ = false;      // The census has changed since it was kept.
  std::int64_t looks_ = 0;  // That began.
  Duration not_before_;     // A driver that hangs is left alone until then.
  async::Notifier done_;
};

}  // namespace runnel::agent
