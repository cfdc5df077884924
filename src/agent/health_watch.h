#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/health_files.h"
#include "agent/patient_reads.h"
#include "agent/rank_pace.h"
#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "env/clock.h"
#include "model/health.h"
#include "model/order.h"
#include "runner/message.h"

namespace runnel::agent {

// Looks for ranks that hang, lag or report NaN, in the attempts that it was told to look at.
//
// Contract: tells what may matter, each problem at most once per attempt; what it amounts to,
//           control says. Silence counts while somebody looks, by the clock since boot: of the time
//           between two looks at most kGapMax, so that a daemon that was stopped accuses nobody. Of
//           several silent ranks the one that is furthest behind in its steps is told, or else the
//           one silent for longest. What an earlier attempt wrote to the task's metrics is not
//           read (HealthFiles). Of a job whose files stand still (PatientReads) nothing is told,
//           and nobody is called silent.
// Threads:  the loop's only; files are read on threads "agent-health".
// Lifetime: run(), which is spawned once, look() and finish() in a gate that is closed before
//           destruction.
// Limits:   one look per kEvery, and what HealthFiles says. Behind that nobody is called silent.
class HealthWatch {
 public:
  static constexpr Duration kEvery = Duration::seconds(1);
  static constexpr Duration kGapMax = Duration::seconds(2);

  using Tell = std::function<void(const NodeId&, model::HealthReport)>;
  using Found = std::vector<std::pair<NodeId, model::HealthReport>>;

  HealthWatch(async::EventLoop& loop, env::Clock& clock, std::string home, Tell tell,
              Duration silent_max = PatientReads::kSilentMax);

  // The ranks of a place; `ended` are those of them that are over.
  enum class Begun : std::uint8_t { kNo, kYes };
  void follow(const NodeId& node, const model::WatchOrder& order, Begun begun,
              const std::vector<std::int32_t>& ended);
  // The ranks of a place run from now on.
  void begin(const runner::AttemptOnNode& of);
  // Ranks are over: what is left to tell of each before that.
  struct EndedRank {
    model::AttemptRef attempt;
    std::int32_t rank = 0;
  };
  Async<Found> finish(std::vector<EndedRank> ended);
  // Whether anything is left to tell when a rank of the attempt ends: else end() will do.
  bool has_last_words(const model::AttemptRef& attempt) const;
  void end(const EndedRank& ended);
  void forget(const model::AttemptRef& attempt);
  void forget_all();
  // The reports to be told now. As run() does, every kEvery.
  Async<Found> look();
  Async<void> run(async::StopToken stop);

 private:
  struct Rank {
    NodeId node;
    bool runs = false;
    bool heard = true;  // Since the last look.
    Duration silence;
    std::int64_t bytes = -1;  // Its output, when last looked at; -1: not yet.
    std::int64_t step = -1;   // The last one reported.
  };
  struct Attempt {
    model::HealthPolicy policy;
    std::int32_t world_size = 1;
    output::RankOutputs::Begun begun = output::RankOutputs::Begun::kLater;
    RankPaces paces;
    std::map<std::int32_t, Rank> ranks;  // Those that are not over.
    std::set<model::HealthProblem> told;
  };

  void take_samples(const model::AttemptRef& ref, Attempt& attempt,
                    const std::vector<model::MetricSample>& samples, Found& found);
  void take_value(const model::AttemptRef& ref, Attempt& attempt, const model::MetricSample& sample,
                  Found& found);
  void take_pace(Attempt& attempt, const model::MetricSample& sample);
  void listen(Attempt& attempt, const HealthFiles::Seen& seen, Duration passed);
  void find_silent(const model::AttemptRef& ref, Attempt& attempt, Found& found);
  void find_slow(const model::AttemptRef& ref, Attempt& attempt, Found& found);
  void add(Attempt& attempt, model::HealthReport report, Found& found);
  std::map<JobId, HealthFiles::Attempts> asked() const;
  void judge(const model::AttemptRef& ref, const HealthFiles::Seen* seen, Duration passed,
             Found& found);
  // Nothing where the job's files stand still.
  template <typename T>
  Async<std::optional<T>> read(JobId job, std::function<T(HealthFiles&)> what);

  async::EventLoop& loop_;
  env::Clock& clock_;
  std::string home_;
  Tell tell_;
  PatientReads reads_;
  std::map<model::AttemptRef, Attempt> attempts_;
  // The reading thread's alone while it reads. Of the jobs of `attempts_`.
  std::map<JobId, std::shared_ptr<HealthFiles>> files_;
  Duration looked_at_;
};

}  // namespace runnel::agent
