#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/patient_reads.h"
#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "env/clock.h"
#include "model/report.h"
#include "output/attempt_metrics.h"
#include "output/metric_plan.h"
#include "runner/message.h"

namespace runnel::agent {

// Passes on what running trials report, wherever they do.
//
// Contract: what an attempt reported is told within kEvery, or once all others were looked at, and
//           before its end: whoever hears of the end asks finish() first. Told again after a
//           restart; a report says by its step whether it is new. A job whose files stand still
//           (PatientReads), or cannot be read just now, is looked at again later, and others go on.
// Threads:  the loop's only; sources are read and patterns matched on threads "agent-metrics".
// Lifetime: run(), which is spawned once, and finish() in a gate that is closed before destruction.
// Limits:   of more than kReportsMax samples between two looks, so many are told, evenly spaced.
class MetricsWatch {
 public:
  static constexpr Duration kEvery = Duration::millis(20);
  static constexpr Duration kIdleEvery = Duration::millis(200);  // While nothing is followed.
  static constexpr std::size_t kReportsMax = 256;
  static constexpr Duration kAskAgain = Duration::millis(250);

  using Tell = std::function<void(const NodeId&, std::vector<model::MetricReport>)>;

  MetricsWatch(async::EventLoop& loop, env::Clock& clock, std::string home, Tell tell,
               Duration silent_max = PatientReads::kSilentMax);

  using Reports = std::map<runner::AttemptOnNode, std::vector<model::MetricReport>>;

  // `plan` may be null: then there is only its file. `output_from`: the record of the job's index
  // from which on the attempt's output can be found.
  void follow(const runner::AttemptOnNode& of, output::MetricPlanPtr plan,
              std::int64_t output_from);
  // The last reports of attempts that ended, the final one of each marked as such; none of attempts
  // that are not followed. Files that do not answer are asked again for `patience`; after that what
  // they hold is not told. kCancelled when the token stops first: then they are still followed.
  Async<Reports> finish(std::vector<runner::AttemptOnNode> ended, Duration patience,
                        async::StopToken stop);
  void forget(const runner::AttemptOnNode& of) { followed_.erase(of); }
  void forget_all() { followed_.clear(); }
  bool follows(const runner::AttemptOnNode& of) const { return followed_.contains(of); }
  // Nothing is looked at while nobody may be told: what was read once is not read again.
  void pause() { paused_ = true; }
  void go_on() { paused_ = false; }
  Async<void> run(async::StopToken stop);

 private:
  // What is read of an attempt. `metrics` is the reading thread's alone while it looks.
  struct Source {
    output::MetricPlanPtr plan;
    std::int64_t output_from = 0;
    std::shared_ptr<output::AttemptMetrics> metrics;
  };
  using Followed = std::pair<runner::AttemptOnNode, std::shared_ptr<Source>>;
  using Readable = std::pair<runner::AttemptOnNode, std::shared_ptr<output::AttemptMetrics>>;
  using Look = Reports (*)(const std::vector<Readable>&);

  static Reports look_at(const std::vector<Readable>& all);
  static Reports end_of(const std::vector<Readable>& all);
  std::shared_ptr<output::AttemptMetrics> metrics_of(const runner::AttemptOnNode& of,
                                                     const Source& source) const;
  // The reports that the look finds in the attempts of one job. When its files stand still they are
  // read from their beginning at the next look: what the thread that hangs takes is never told.
  Async<Reports> read(JobId job, std::vector<Followed> followed, Look look);
  bool is_followed(const Followed& each) const;
  void drop(const std::vector<Followed>& followed);
  Async<void> look_at_all();
  void tell(Reports reports);

  async::EventLoop& loop_;
  env::Clock& clock_;
  std::string home_;
  Tell tell_;
  PatientReads reads_;
  std::map<runner::AttemptOnNode, std::shared_ptr<Source>> followed_;
  bool paused_ = false;
};

}  // namespace runnel::agent
