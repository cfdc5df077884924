#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/attempt_metrics.h"
#include "agent/metric_plan.h"
#include "agent/runner/message.h"
#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "model/report.h"

namespace runnel::agent {

// Passes on what running trials report, wherever they do.
//
// Contract: what an attempt reported is told within kEvery, and before its end: whoever hears of
//           the end asks finish() first. Told again after a restart; a report says by its step
//           whether it is new.
// Threads:  the loop's only.
// Lifetime: run() is spawned once, in a gate that is closed before destruction.
// Limits:   of more than kReportsMax samples between two looks, so many are told, evenly spaced.
class MetricsWatch {
 public:
  static constexpr Duration kEvery = Duration::millis(20);
  static constexpr Duration kIdleEvery = Duration::millis(200);  // While nothing is followed.
  static constexpr std::size_t kReportsMax = 256;

  using Tell = std::function<void(const NodeId&, std::vector<model::MetricReport>)>;

  MetricsWatch(async::EventLoop& loop, std::string home, Tell tell);

  // Whether the attempt may have begun to write before now.
  enum class Begun : std::uint8_t { kNotYet, kPerhaps };
  // `plan` may be null: then there is only its file.
  void follow(const AttemptOnNode& of, MetricPlanPtr plan, Begun begun);
  // What is left to tell, the last of it marked as such; nothing when it is not followed.
  std::vector<model::MetricReport> finish(const AttemptOnNode& of);
  void forget(const AttemptOnNode& of) { followed_.erase(of); }
  void forget_all() { followed_.clear(); }
  Async<void> run(async::StopToken stop);

 private:
  async::EventLoop& loop_;
  std::string home_;
  Tell tell_;
  std::map<AttemptOnNode, AttemptMetrics> followed_;
};

}  // namespace runnel::agent
