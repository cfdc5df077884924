#include "agent/preparer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent/phases/branches.h"
#include "agent/phases/checkpoint_copy.h"
#include "agent/phases/merge.h"
#include "agent/phases/metric_plan.h"
#include "agent/phases/metrics_begin.h"
#include "agent/phases/output_begin.h"
#include "agent/phases/secrets.h"
#include "agent/phases/volumes.h"
#include "base/check.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

output::MetricPlans::Key plan_key(const model::TaskRef& task) { return {task.job, task.step}; }

// A phase's own answer, apart from what keeps it from being asked.
struct Passed {
  Result<Readiness> outcome;
};

// Which of these steps have plans is asked of the disk; the order is that of `keys`.
std::vector<output::MetricPlanPtr> plans_on_disk(const std::string& home,
                                                 const std::set<output::MetricPlans::Key>& keys) {
  std::vector<output::MetricPlanPtr> plans;
  plans.reserve(keys.size());
  for (const auto& [job, step] : keys) plans.push_back(output::load_metric_plan(home, job, step));
  return plans;
}

}  // namespace

Preparer::Stage::Stage(async::EventLoop& loop, env::Clock& clock, std::shared_ptr<const Phase> of)
    : phase(std::move(of)),
      calls(loop, clock, std::string(phase->traits().thread), phase->traits().silent_max,
            phase->traits().waits_for_others ? PatientReads::Turns::kPerFolder
                                             : PatientReads::Turns::kOneOfAll) {}

Preparer::Preparer(async::EventLoop& loop, env::Clock& clock, std::string home,
                   PlaceContext context, std::shared_ptr<const SecretSource> secrets,
                   std::vector<std::string> volume_command)
    : loop_(loop),
      clock_(clock),
      home_(std::move(home)),
      context_(std::move(context)),
      loads_(loop, clock, "agent-plans", Duration::minutes(10)),
      records_(home_),
      record_calls_(loop, clock, "agent-records", Duration::seconds(30)),
      causes_(loop, clock, "agent-causes"),
      work_ended_(loop) {
  const VolumeCommand runs_volumes(std::move(volume_command), secrets);
  stages_.emplace_back(loop, clock, std::make_shared<SecretsPhase>(std::move(secrets)));
  stages_.emplace_back(loop, clock, std::make_shared<MetricPlanPhase>(home_, plans_));
  stages_.emplace_back(loop, clock, std::make_shared<MetricsBeginPhase>(home_));
  stages_.emplace_back(loop, clock,
                       std::make_shared<VolumesPhase>(UsedMounts(home_), runs_volumes));
  stages_.emplace_back(loop, clock,
                       std::make_shared<BranchesPhase>(UsedMounts(home_), runs_volumes));
  stages_.emplace_back(loop, clock, std::make_shared<MergePhase>(home_ + "/merges", runs_volumes));
  stages_.emplace_back(loop, clock, std::make_shared<CheckpointCopyPhase>(home_));
  stages_.emplace_back(loop, clock, std::make_shared<OutputBeginPhase>(home_));
}

Readiness Preparer::known_of(const model::StartOrder& order) const {
  Readiness ready;
  if (MetricPlanPhase::concerns(order)) ready.plan = plan_of(order.attempt.task);
  return ready;
}

Result<Preparer::Prepared> Preparer::prepared(const NodeId& node, const model::StartOrder& order,
                                              Readiness ready) const {
  runner::PlaceStart place = TRY(place_of(context_, node, order, ready));
  return Prepared{std::move(place), std::move(ready.plan), ready.output_from};
}

std::optional<Result<Preparer::Prepared>> Preparer::at_once(const NodeId& node,
                                                            const model::StartOrder& order) const {
  const bool needs_one = std::any_of(stages_.begin(), stages_.end(), [&](const Stage& stage) {
    return stage.phase->is_needed(order);
  });
  if (needs_one) return std::nullopt;
  return prepared(node, order, known_of(order));
}

Async<Preparer::Prepared> Preparer::prepare(NodeId node, model::StartOrder order,
                                            async::StopToken stop) {
  const Record record{std::move(node), std::move(order)};
  if (!has_parts_until(Phase::Parts::kUntilBegun, record.order)) {
    Result<Prepared> made = co_await pass_all(record, stop);
    co_return made;
  }
  const runner::AttemptOnNode of = record.of();
  CO_TRY(co_await wait_until_idle(of, stop));
  busy_.insert(of);
  Result<Prepared> made = co_await make_with_parts(record, stop);
  end_work(of);
  co_return made;
}

Async<void> Preparer::wait_until_idle(const runner::AttemptOnNode& of, async::StopToken stop) {
  const Wait wait(*this, of, "what was made ready of it before, which is still being worked on");
  while (busy_.contains(of)) CO_TRY(co_await work_ended_.wait(stop));
  co_return {};
}

bool Preparer::has_parts_until(Phase::Parts until, const model::StartOrder& order) const {
  return std::any_of(stages_.begin(), stages_.end(), [&](const Stage& stage) {
    return stage.phase->traits().parts >= until && stage.phase->is_needed(order);
  });
}

// A stop leaves the rest to the agent's next life.
Async<Preparer::Prepared> Preparer::make_with_parts(const Record& record, async::StopToken stop) {
  CO_TRY(co_await keep(record));
  made_.insert_or_assign(record.of(), record.order);
  if (finishes(record.order)) unfinished_.insert_or_assign(record.of(), record.order);
  Result<Prepared> made = co_await pass_all(record, stop);
  if (made.ok() || stop.stopped()) co_return made;
  (void)co_await undo_parts(record);
  co_return made;
}

Async<void> Preparer::keep(Record record) {
  const auto keep = [records = records_, record = std::move(record)] {
    return records.keep(record);
  };
  co_return co_await record_calls_.run<void>(records_.folder(), keep);
}

void Preparer::end_work(const runner::AttemptOnNode& of) {
  CHECK(busy_.erase(of) == 1, "the work on an attempt ends that nobody began");
  work_ended_.notify_all();
}

Async<Preparer::Prepared> Preparer::pass_all(const Record& record, async::StopToken stop) {
  Readiness ready = CO_TRY(co_await pass_stages(record, std::move(stop)));
  if (ready.plan) plans_.remember(plan_key(record.order.attempt.task), ready.plan);
  if (!ready.published.empty()) CO_TRY(co_await keep_published(record, ready.published));
  co_return prepared(record.node, record.order, std::move(ready));
}

// The next life tells of it, too.
Async<void> Preparer::keep_published(Record record, model::VolumeVersions published) {
  record.order.merge->published = published;
  CO_TRY(co_await keep(record));
  published_.insert_or_assign(record.of(), std::move(published));
  co_return {};
}

Async<Readiness> Preparer::pass_stages(const Record& record, async::StopToken stop) {
  Readiness ready = known_of(record.order);
  for (Stage& stage : stages_) {
    if (!stage.phase->is_needed(record.order)) continue;
    for (model::StartOrder& each : stage.phase->split(record.order)) {
      const Record of_this{record.node, std::move(each)};
      ready = CO_TRY(co_await pass(stage, of_this, std::move(ready), stop));
    }
  }
  co_return ready;
}

Async<Readiness> Preparer::pass(Stage& stage, const Record& record, Readiness so_far,
                                async::StopToken stop) {
  const Wait wait(*this, record.of(), stage.phase->waits_for(record.order));
  co_return co_await pass_in_time(stage, record, std::move(so_far), stop);
}

Preparer::Wait::Wait(Preparer& preparer, const runner::AttemptOnNode& of, std::string what,
                     Until until)
    : waits_(preparer.waits_),
      place_(waits_.insert(waits_.end(), {of, std::move(what), preparer.clock_.wall(),
                                          preparer.clock_.boot(), until})) {}

std::vector<Preparer::Waiting> Preparer::waiting() const {
  std::vector<Waiting> slow;
  for (const Waiting& each : waits_) {
    if (clock_.boot() - each.boot >= kSlowAfter) slow.push_back(each);
  }
  return slow;
}

Async<Readiness> Preparer::pass_in_time(Stage& stage, const Record& record, Readiness so_far,
                                        async::StopToken stop) {
  for (int tries = 1;; ++tries) {
    Result<Readiness> passed = co_await pass_once(stage, record, so_far, stop);
    if (passed.ok()) co_return passed;
    CO_TRY(stop.check());
    const std::optional<Duration> again = stage.phase->again(passed.error(), tries);
    if (!again) co_return passed;
    CO_TRY(co_await loop_.sleep(*again, stop));
  }
}

// A place where so many wait already is asked again; one that stands still is given up.
Async<Readiness> Preparer::pass_once(Stage& stage, const Record& record, Readiness so_far,
                                     async::StopToken stop) {
  const Workplace where = stage.phase->workplace(record.order);
  const auto work = [phase = stage.phase, record, so_far](PathTrail& trail) {
    return Result(Passed{phase->prepare(record.node, record.order, so_far, trail)});
  };
  for (;;) {
    Result<Passed> called =
        co_await stage.calls.run_along<Passed>(where.folder, work, where.reach, where.group);
    CO_TRY(stop.check());
    if (called.ok()) co_return std::move(called->outcome);
    if (called.error().code != Errc::kFull) {
      if (stage.phase->traits().is_optional) co_return so_far;
      co_return std::move(called).error();
    }
    CO_TRY(co_await loop_.sleep(kTurnAgainAfter, stop));
  }
}

void Preparer::stop() {
  for (Stage& stage : stages_) stage.calls.stop();
  causes_.stop();
}

// --- What is taken back.

Async<void> Preparer::hand_over_parts(runner::AttemptOnNode of) {
  CHECK(!busy_.contains(of), "an attempt begins while it is made ready");
  const auto made = made_.extract(of);
  if (made.empty()) co_return {};
  if (has_parts_until(Phase::Parts::kUntilEnded, made.mapped())) {
    lasting_.insert_or_assign(of, std::move(made.mapped()));
    co_return {};
  }
  Result<void> dropped = co_await drop_record(of);
  co_return dropped;
}

// One that is being made ready anew has not begun.
Async<void> Preparer::end(runner::AttemptOnNode of) {
  const auto found = lasting_.extract(of);
  if (found.empty() || busy_.contains(of)) co_return {};
  Record record{of.node, std::move(found.mapped())};
  Result<void> undone = co_await undo(std::move(record));
  co_return undone;
}

Preparer::Asked Preparer::who_knows_causes(const model::StartOrder& order) const {
  Asked asked;
  for (const Stage& stage : stages_) {
    if (stage.phase->traits().parts != Phase::Parts::kUntilEnded) continue;
    if (!stage.phase->is_needed(order)) continue;
    for (model::StartOrder& each : stage.phase->split(order)) {
      asked.emplace_back(stage.phase, std::move(each));
    }
  }
  return asked;
}

// Apart from what phases are called for otherwise: an end waits for nobody who is made ready.
Async<std::string> Preparer::likely_cause(runner::AttemptOnNode of, Time begun) {
  const auto found = lasting_.find(of);
  if (found == lasting_.end()) co_return std::string();
  const Asked asked = who_knows_causes(found->second);
  CHECK(!asked.empty(), "parts last that no phase has made");
  const auto ask = [asked, begun]() -> Result<std::string> {
    for (const auto& [phase, order] : asked) {
      if (std::string cause = phase->likely_cause(order, begun); !cause.empty()) return cause;
    }
    return std::string();
  };
  co_return co_await causes_.run<std::string>(home_, ask, Reach::kFolder);
}

Async<void> Preparer::drop_record(const runner::AttemptOnNode& of) {
  const auto drop = [records = records_, of] { return records.drop(of); };
  Result<void> dropped = co_await record_calls_.run<void>(records_.folder(), drop);
  co_return dropped;
}

// An attempt that is being made ready anew keeps what is there.
Async<void> Preparer::take_back(runner::AttemptOnNode of) {
  const auto found = made_.find(of);
  if (found == made_.end() || busy_.contains(of)) co_return {};
  Record record{of.node, found->second};
  (void)co_await undo(std::move(record));
  co_return {};
}

Async<void> Preparer::undo(Record record) {
  const runner::AttemptOnNode of = record.of();
  const bool is_idle = busy_.insert(of).second;
  CHECK(is_idle, "an attempt is taken back while it is made ready");
  Result<void> undone = co_await undo_parts(record);
  end_work(of);
  co_return undone;
}

Async<void> Preparer::undo_one(Stage& stage, NodeId node, model::StartOrder order) {
  const Workplace where = stage.phase->workplace(order);
  const auto work = [phase = stage.phase, node, order](PathTrail& trail) {
    return phase->undo(node, order, trail);
  };
  co_return co_await stage.calls.run_along<void>(where.folder, work, where.reach, where.group);
}

Async<void> Preparer::undo_parts(const Record& record) {
  const runner::AttemptOnNode of = record.of();
  Result<void> undone;
  for (auto stage = stages_.rbegin(); stage != stages_.rend() && undone.ok(); ++stage) {
    const std::shared_ptr<const Phase> phase = stage->phase;
    if (phase->traits().parts == Phase::Parts::kNone || !phase->is_needed(record.order)) continue;
    // One that cannot be taken back keeps none of the others.
    for (const model::StartOrder& each : phase->split(record.order)) {
      const Result<void> done = co_await undo_one(*stage, record.node, each);
      if (undone.ok()) undone = done;
    }
  }
  if (undone.ok()) undone = co_await drop_record(of);
  if (!undone.ok()) {
    not_taken_back_[of] = undone.error().to_string();
    co_return undone;
  }
  made_.erase(of);
  unfinished_.erase(of);
  published_.erase(of);
  not_taken_back_.erase(of);
  co_return {};
}

Async<void> Preparer::take_back_unwanted(StandingOf standing_of, async::StopToken stop) {
  const auto read = [records = records_] { return records.all(); };
  Result<PreparationRecords::All> found =
      co_await record_calls_.run<PreparationRecords::All>(records_.folder(), read);
  if (!found.ok()) {
    unreadable_ = {"what attempts that never began have left cannot be taken back: " +
                   found.error().to_string()};
    co_return found.error();
  }
  PreparationRecords::All all = std::move(found).value();
  unreadable_ = std::move(all.unreadable);
  for (Record& record : all.records) {
    CO_TRY(stop.check());
    const runner::AttemptOnNode of = record.of();
    if (busy_.contains(of)) continue;
    switch (standing_of(of)) {
      case Standing::kUnknown: co_return {};
      case Standing::kGone: (void)co_await undo(std::move(record)); break;
      case Standing::kOrdered: made_.try_emplace(of, std::move(record.order)); break;
      case Standing::kBegun:
        made_.insert_or_assign(of, std::move(record.order));
        (void)co_await hand_over_parts(of);
        break;
    }
  }
  co_return {};
}

Async<void> Preparer::keep_taking_back(StandingOf standing_of, Duration every,
                                       async::StopToken stop) {
  while (true) {
    CO_TRY(co_await loop_.sleep(every, stop));
    if (!not_taken_back_.empty()) (void)co_await take_back_unwanted(standing_of, stop);
    (void)co_await sweep();
  }
}

// What cannot be swept is tried again.
Async<void> Preparer::sweep() {
  for (Stage& stage : stages_) {
    const std::optional<std::string> folder = stage.phase->swept_folder();
    if (!folder) continue;
    const auto work = [phase = stage.phase](PathTrail& trail) { return phase->sweep(trail); };
    (void)co_await stage.calls.run_along<void>(*folder, work, Reach::kBelow);
  }
  co_return {};
}

std::vector<std::string> Preparer::notices() const {
  std::vector<std::string> all = unreadable_;
  const bool reads_volumes = std::any_of(lasting_.begin(), lasting_.end(), [](const auto& entry) {
    return !entry.second.volumes.empty();
  });
  if (reads_volumes && !can_mount()) {
    all.emplace_back(
        "this machine cannot mount (no /dev/fuse), so the volumes of jobs are copied into " +
        home_ + "/mounts while they are used");
  }
  for (const auto& [of, why] : not_taken_back_) {
    all.push_back("what was made ready for attempt " + std::to_string(of.attempt.attempt.value()) +
                  " of task " + std::to_string(of.attempt.task.index.value()) + " of job " +
                  of.attempt.task.job.str() + " is not taken back yet: " + why);
  }
  return all;
}

// --- What is finished before an end is told.

bool Preparer::finishes(const model::StartOrder& order) const {
  return std::any_of(stages_.begin(), stages_.end(), [&](const Stage& stage) {
    return stage.phase->finishes() && stage.phase->is_needed(order);
  });
}

const model::StartOrder* Preparer::unfinished(const runner::AttemptOnNode& of) const {
  const auto found = unfinished_.find(of);
  return found == unfinished_.end() ? nullptr : &found->second;
}

model::VolumeVersions Preparer::published_by(const runner::AttemptOnNode& of) const {
  const auto found = published_.find(of);
  return found == published_.end() ? model::VolumeVersions() : found->second;
}

Async<void> Preparer::load_unfinished() {
  const auto read = [records = records_] { return records.all(); };
  PreparationRecords::All found =
      CO_TRY(co_await record_calls_.run<PreparationRecords::All>(records_.folder(), read));
  for (Record& record : found.records) {
    const auto& merge = record.order.merge;
    if (merge && !merge->published.empty()) published_.try_emplace(record.of(), merge->published);
    if (finishes(record.order)) unfinished_.try_emplace(record.of(), std::move(record.order));
  }
  co_return {};
}

Async<void> Preparer::finish(runner::AttemptOnNode of, std::int32_t rank, async::StopToken stop) {
  const model::StartOrder* const order = unfinished(of);
  if (order == nullptr) co_return {};  // What was made for it was taken back just now.
  const Record record{of.node, *order};
  for (Stage& stage : stages_) {
    if (!stage.phase->finishes() || !stage.phase->is_needed(record.order)) continue;
    for (model::StartOrder& each : stage.phase->split(record.order)) {
      if (each.first_rank != rank) continue;
      const Record of_this{record.node, std::move(each)};
      CO_TRY(co_await finish_one(stage, of_this, stop));
    }
  }
  co_return {};
}

Async<void> Preparer::finish_one(Stage& stage, const Record& record, async::StopToken stop) {
  const std::string what = "what it wrote, which goes to " + stage.phase->waits_for(record.order);
  Wait wait(*this, record.of(), what, Until::kFinished);
  for (Duration pause = kFinishAgainMin;; pause = std::min(pause * 2, kFinishAgainMax)) {
    const Result<bool> done = co_await finish_once(stage, record);
    if (done.ok() && *done) co_return {};
    CO_TRY(stop.check());
    if (!done.ok() && done.error().code == Errc::kInvalid) co_return done.error();
    wait.say(done.ok() ? what : what + " (" + done.error().message + ")");
    CO_TRY(co_await loop_.sleep(pause, stop));
  }
}

Async<bool> Preparer::finish_once(Stage& stage, const Record& record) {
  const Workplace where = stage.phase->workplace(record.order);
  const auto work = [phase = stage.phase, record](PathTrail& trail) {
    return phase->finish(record.node, record.order, trail);
  };
  co_return co_await stage.calls.run_along<bool>(where.folder, work, where.reach, where.group);
}

// --- Plans of metrics.

Async<void> Preparer::load_plans(std::vector<model::TaskRef> tasks) {
  std::set<output::MetricPlans::Key> unknown;
  for (const model::TaskRef& task : tasks) {
    if (!plans_.find(plan_key(task))) unknown.insert(plan_key(task));
  }
  if (unknown.empty()) co_return {};
  const auto load = [home = home_, unknown] { return Result(plans_on_disk(home, unknown)); };
  Result<std::vector<output::MetricPlanPtr>> loaded =
      co_await loads_.run<std::vector<output::MetricPlanPtr>>(output::jobs_folder(home_), load);
  std::vector<output::MetricPlanPtr> plans = CO_TRY(std::move(loaded));
  CHECK(plans.size() == unknown.size(), "a plan, or none, is loaded for each step");
  auto plan = plans.begin();
  for (const output::MetricPlans::Key& key : unknown) {
    if (*plan) plans_.remember(key, std::move(*plan));
    ++plan;
  }
  co_return {};
}

output::MetricPlanPtr Preparer::plan_of(const model::TaskRef& task) const {
  return plans_.find(plan_key(task));
}

}  // namespace runnel::agent
