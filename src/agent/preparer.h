#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/patient_reads.h"
#include "agent/phases/phase.h"
#include "agent/place.h"
#include "agent/preparation_records.h"
#include "agent/secret_source.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"
#include "model/order.h"
#include "output/metric_plan.h"
#include "runner/message.h"

namespace runnel::agent {

// Makes attempts ready to be handed to the runner, phase by phase (agent/phases/), and takes back
// what was made for those that do not begin.
//
// Contract: prepare() may be done again after a kill at any moment, and finds what was done. Of an
//           attempt whose phases leave parts, all of them are there when it begins; of one that
//           does not begin, none: what is to be taken back is on the disk before it is made, so
//           that the next life of the agent knows of it. Parts that last until an attempt's end are
//           taken back then, by end(), or by the next life that finds it gone.
// Threads:  the loop's only. Each phase has threads of its own (PatientReads), so that one that
//           hangs holds up nobody else.
// Lifetime: what it awaits runs in a gate that is closed before destruction.
class Preparer {
 public:
  struct Prepared {
    runner::PlaceStart place;
    // The places where a trial reports besides its file, if it does, and the record of the job's
    // index from which its output is found.
    output::MetricPlanPtr plan;
    std::int64_t output_from = 0;
  };

  // `secrets` may be null where no order names a secret that control keeps, and `volume_command`
  // (phases/volumes.h) empty where none names a volume.
  Preparer(async::EventLoop& loop, env::Clock& clock, std::string home, PlaceContext context,
           std::shared_ptr<const SecretSource> secrets = nullptr,
           std::vector<std::string> volume_command = {});

  // The attempt of an order that needs no phase; none: prepare() it.
  std::optional<Result<Prepared>> at_once(const NodeId& node, const model::StartOrder& order) const;
  // An attempt that fails has left nothing. A later preparation of one attempt waits for the
  // earlier, and for what takes it back.
  Async<Prepared> prepare(NodeId node, model::StartOrder order, async::StopToken stop);

  // What waits for a phase, or will, is left to the next life of the agent.
  void stop();

  // Whether parts were made for the attempt in this life, and it has not begun.
  bool has_parts(const runner::AttemptOnNode& of) const { return made_.contains(of); }
  // Whether parts of an attempt that has begun are to be taken back at its end.
  bool has_lasting_parts(const runner::AttemptOnNode& of) const { return lasting_.contains(of); }
  // The attempt has begun: what was made is its own, at least until its end.
  Async<void> hand_over_parts(runner::AttemptOnNode of);
  // The order of an attempt of which something is to be finished between the end of a rank and the
  // word of it; null: nothing is.
  // Of attempts of earlier lives that is known once load_unfinished() has looked.
  const model::StartOrder* unfinished(const runner::AttemptOnNode& of) const;
  Async<void> load_unfinished();
  // What its preparation has published; of earlier lives as above.
  model::VolumeVersions published_by(const runner::AttemptOnNode& of) const;
  // Finishes a rank, however long that takes; it may be asked for again. kInvalid: it never ends.
  Async<void> finish(runner::AttemptOnNode of, std::int32_t rank, async::StopToken stop);
  // The attempt has ended, whether or not it left parts.
  Async<void> end(runner::AttemptOnNode of);
  // What an attempt that began then, and has failed, may have failed by: a sentence; empty: nothing
  // is known.
  Async<std::string> likely_cause(runner::AttemptOnNode of, Time begun);
  // The attempt will not begin.
  Async<void> take_back(runner::AttemptOnNode of);
  // Takes back the parts that this life or an earlier one made for attempts that nobody has: to be
  // called when the runner has told what it has. Once `standing_of` does not know any more, as when
  // the runner is met anew, the rest is left to the next call.
  enum class Standing : std::uint8_t { kUnknown, kGone, kOrdered, kBegun };
  using StandingOf = std::function<Standing(const runner::AttemptOnNode&)>;
  Async<void> take_back_unwanted(StandingOf standing_of, async::StopToken stop);
  // Does so again where something could not be taken back, until it is stopped.
  static constexpr Duration kAgainEvery = Duration::seconds(10);
  Async<void> keep_taking_back(StandingOf standing_of, Duration every, async::StopToken stop);
  // An attempt that has waited for one thing for longer than kSlowAfter.
  enum class Until : std::uint8_t { kBegun, kFinished };
  struct Waiting {
    runner::AttemptOnNode of;
    std::string waits_for;  // Phase::waits_for().
    Time since;
    Duration boot;  // The same moment, since boot.
    Until until = Until::kBegun;
  };
  static constexpr Duration kSlowAfter = Duration::seconds(3);
  std::vector<Waiting> waiting() const;
  // Parts that could not be taken back, and why: sentences.
  std::vector<std::string> notices() const;

  // Makes plan_of() know the steps of tasks from before our time.
  Async<void> load_plans(std::vector<model::TaskRef> tasks);
  // Null: none is known.
  output::MetricPlanPtr plan_of(const model::TaskRef& task) const;

 private:
  static constexpr Duration kTurnAgainAfter = Duration::millis(50);
  static constexpr Duration kFinishAgainMin = Duration::millis(20);  // Doubles from here ...
  static constexpr Duration kFinishAgainMax = Duration::seconds(1);  // ... to here.

  struct Stage {
    Stage(async::EventLoop& loop, env::Clock& clock, std::shared_ptr<const Phase> of);

    std::shared_ptr<const Phase> phase;  // Threads that were left alone hold it, too.
    PatientReads calls;
  };
  using Record = PreparationRecords::Record;
  // Whether a phase of the order leaves parts until then, or longer.
  bool has_parts_until(Phase::Parts until, const model::StartOrder& order) const;
  Async<Prepared> pass_all(const Record& record, async::StopToken stop);
  Async<Readiness> pass_stages(const Record& record, async::StopToken stop);
  bool finishes(const model::StartOrder& order) const;
  Async<void> finish_one(Stage& stage, const Record& record, async::StopToken stop);
  Async<bool> finish_once(Stage& stage, const Record& record);
  Async<void> keep(Record record);
  Async<void> keep_published(Record record, model::VolumeVersions published);
  // Another preparation of the attempt, or what takes it back, may be under way.
  Async<void> wait_until_idle(const runner::AttemptOnNode& of, async::StopToken stop);
  Async<Prepared> make_with_parts(const Record& record, async::StopToken stop);
  Async<void> undo(Record record);
  static Async<void> undo_one(Stage& stage, NodeId node, model::StartOrder order);
  Async<void> undo_parts(const Record& record);
  using Asked = std::vector<std::pair<std::shared_ptr<const Phase>, model::StartOrder>>;
  Asked who_knows_causes(const model::StartOrder& order) const;
  Async<void> drop_record(const runner::AttemptOnNode& of);
  Async<void> sweep();
  void end_work(const runner::AttemptOnNode& of);
  Async<Readiness> pass(Stage& stage, const Record& record, Readiness so_far,
                        async::StopToken stop);
  Async<Readiness> pass_in_time(Stage& stage, const Record& record, Readiness so_far,
                                async::StopToken stop);
  Async<Readiness> pass_once(Stage& stage, const Record& record, Readiness so_far,
                             async::StopToken stop);
  Result<Prepared> prepared(const NodeId& node, const model::StartOrder& order,
                            Readiness ready) const;
  Readiness known_of(const model::StartOrder& order) const;

  // Something that an attempt waits for, for as long as this lives.
  class Wait {
   public:
    Wait(Preparer& preparer, const runner::AttemptOnNode& of, std::string what,
         Until until = Until::kBegun);
    ~Wait() { waits_.erase(place_); }
    void say(std::string what) { place_->waits_for = std::move(what); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    std::list<Waiting>& waits_;
    std::list<Waiting>::iterator place_;
  };

  async::EventLoop& loop_;
  env::Clock& clock_;
  const std::string home_;
  const PlaceContext context_;
  output::MetricPlans plans_;
  std::list<Stage> stages_;  // In the order in which attempts pass them.
  PatientReads loads_;
  std::list<Waiting> waits_;

  const PreparationRecords records_;
  PatientReads record_calls_;
  PatientReads causes_;
  std::map<runner::AttemptOnNode, model::StartOrder> made_;
  std::map<runner::AttemptOnNode, model::StartOrder>
      lasting_;  // Parts of attempts that have begun.
  std::map<runner::AttemptOnNode, model::StartOrder>
      unfinished_;  // Until what was made for them is taken back.
  std::map<runner::AttemptOnNode, model::VolumeVersions> published_;  // The same.
  std::set<runner::AttemptOnNode> busy_;  // Being made ready or taken back.
  async::Notifier work_ended_;
  std::map<runner::AttemptOnNode, std::string> not_taken_back_;
  std::vector<std::string> unreadable_;
};

}  // namespace runnel::agent
