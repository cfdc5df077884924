#include "brain/index.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/muldiv.h"
#include "brain/hosts.h"
#include "brain/places.h"

namespace runnel::brain {
namespace {

using model::Status;

bool waits(const Task& task) {
  return !task.live.has_value() &&
         (task.status == Status::kQueued || task.status == Status::kRecovering);
}

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

sched::QueueKey queue_key(const Job& job, StepIndex step) {
  return sched::QueueKey{-static_cast<std::int64_t>(job.spec->priority), job.order, step};
}

std::int64_t fresh_tasks(const Step& step) {
  auto queued = step.plain.find(Status::kQueued);
  return queued == step.plain.end() ? 0 : queued->second.size();
}

bool may_run(const Job& job, StepIndex step) {
  const auto index = static_cast<std::size_t>(step.value());
  if (model::is_end(job.status) || model::is_end(job.steps[index].status)) return false;
  const auto& needs = job.spec->steps[index].depends_on;
  return std::all_of(needs.begin(), needs.end(), [&](StepIndex need) {
    return job.steps[static_cast<std::size_t>(need.value())].status == Status::kSucceeded;
  });
}

Index Index::build(const State& state) {
  Index index;
  for (const auto& [id, lane] : state.lanes) {
    index.open(state, lane);
    index.settle_queue(state, id);
  }
  for (const auto& [id, job] : state.jobs) index.refresh_job(state, id);
  for (const auto& [id, node] : state.nodes) index.settle_node(state, id);
  for (const auto& [key, record] : state.keys) index.keep_key(key, record.at);
  return index;
}

void Index::follow(const State& state, const model::Event& event) {
  std::visit(
      Overloaded{
          [&](const model::JobSubmitted& what) {
            refresh_job(state, what.job);
            if (what.idempotency_key.empty()) return;
            keep_key(KeyName::of(what.project, what.actor, what.idempotency_key), state.now);
          },
          // Which tasks wait does not change with these; whether their steps may run does.
          [&](const model::JobChanged& what) {
            refresh_steps(state, what.job);
            // An ended job asks for nothing; a reopened one has forgotten ends that were told.
            drop_searchers(state.jobs.at(what.job));
          },
          [&](const model::StepChanged& what) { refresh_steps(state, what.job); },
          [&](const model::TasksChanged& what) {
            refresh_tasks(state, what.job, what.step);
            refresh(state, what.job, what.step);
          },
          [&](const model::LaneOpened& what) {
            open(state, state.lanes.at(what.lane));
            expect_end(state, what.lane);
            settle_lane(state, state.lanes.at(what.lane));
            refresh(state, what.job, what.step);
          },
          [&](const model::LaneExtended& what) {
            for (const model::LaneTask& task : what.tasks) {
              refresh_task(state, model::TaskRef{what.job, what.step, task.index});
            }
            settle_queue(state, what.lane);
            refresh(state, what.job, what.step);
          },
          [&](const model::LaneRenewed& what) { lease(state, what.lane); },
          [&](const model::LaneClosed& what) { close(state, what.lane); },
          [&](const model::AttemptStopping& what) { settle_queue(state, what.lane); },
          [&](const model::AttemptEnded& what) { refresh_attempt(state, what.attempt, what.lane); },
          [&](const model::RunnerCrashed& what) {
            for (const model::RanAtCrash& ran : what.ran) {
              refresh_task(state, ran.attempt.task);
              refresh(state, ran.attempt.task.job, ran.attempt.task.step);
              const Task* task = find_task(state, ran.attempt.task);
              if (task != nullptr && task->live) expect_end(state, task->live->lane);
            }
          },
          [&](const model::TaskCleared& what) {
            refresh_task(state, {what.job, what.step, what.task});
            refresh(state, what.job, what.step);
          },
          [&](const model::NodeJoined& what) { settle_node(state, what.node.id); },
          [&](const model::NodeLeft& what) { settle_node(state, what.node); },
          [&](const model::NodeLeaving& what) { settle_node(state, what.node); },
          [&](const model::StrangersEnded& what) { settle_host(state, what.node); },
          [&](const model::DevicesQuarantined& what) { settle_node(state, what.node); },
          [&](const model::KeyExpired& what) { drop_key({what.project, what.actor, what.key}); },
          [&](const model::TrialAsked& what) { refresh_deadline(state, {what.job, what.step}); },
          // A finished job has no task that waits, so nothing here knows when it leaves or comes
          // back. Any other event changes nothing that is kept here, or stands beside one that does
          // (index_check.h).
          [](const auto&) {},
      },
      event);
}

void Index::refresh_job(const State& state, const JobId& job) {
  const auto steps = static_cast<std::int32_t>(state.jobs.at(job).steps.size());
  for (std::int32_t step = 0; step < steps; ++step) refresh_tasks(state, job, StepIndex(step));
  refresh_steps(state, job);
}

void Index::refresh_steps(const State& state, const JobId& job) {
  const auto steps = static_cast<std::int32_t>(state.jobs.at(job).steps.size());
  for (std::int32_t step = 0; step < steps; ++step) refresh(state, job, StepIndex(step));
}

void Index::refresh_tasks(const State& state, const JobId& job, StepIndex step) {
  for (const auto& [task, kept] : step_of(state, job, step).tasks) {
    refresh_task(state, model::TaskRef{job, step, task});
  }
}

void Index::refresh_attempt(const State& state, const model::AttemptRef& attempt, LaneId lane) {
  refresh_task(state, attempt.task);
  settle_queue(state, lane);
  refresh(state, attempt.task.job, attempt.task.step);
}

void Index::refresh_task(const State& state, const model::TaskRef& task) {
  const Task* kept = find_task(state, task);
  const std::int64_t next = kept != nullptr && kept->suspicion ? kept->suspicion->crash : 0;
  const bool next_has_suspects = suspects.contains(next);
  std::int64_t before = 0;  // Held against the task until now.
  if (auto was = noted_.find(task); was != noted_.end()) {
    if (was->second.suspicion) before = was->second.suspicion->crash;
    strike(task, was->second);
    noted_.erase(was);
  }
  if (kept != nullptr) note(task, *kept);
  // Its last suspect is none any more, and whoever was tried apart for it has company again.
  if (before != 0 && !suspects.contains(before)) settle_apart(state, before);
  // One that was halted is back.
  if (!next_has_suspects && suspects.contains(next)) settle_apart(state, next);
}

void Index::settle_apart(const State& state, std::int64_t crash) {
  for (const auto& [id, lane] : state.lanes) {
    if (lane.apart == crash) settle_lane(state, lane);
  }
}

void Index::note(const model::TaskRef& task, const Task& kept) {
  const Noted noted{kept.not_before, waits(kept), kept.suspicion};
  const bool tried_apart = noted.suspicion && (noted.waits || kept.live);
  if (!noted.waits && !tried_apart) return;
  noted_[task] = noted;
  const StepKey step{task.job, task.step};
  if (noted.suspicion) suspects[noted.suspicion->crash].insert({noted.suspicion->turn, task});
  if (!noted.waits) return;
  if (noted.suspicion) {
    ++apart[step];
  } else {
    again[step].insert({noted.not_before, task.index});
  }
  if (noted.not_before != Time()) backoffs.insert({noted.not_before, step, task.index});
}

void Index::strike(const model::TaskRef& task, const Noted& noted) {
  const StepKey step{task.job, task.step};
  if (noted.suspicion) {
    const auto crash = suspects.find(noted.suspicion->crash);
    crash->second.erase({noted.suspicion->turn, task});
    if (crash->second.empty()) suspects.erase(crash);
  }
  if (!noted.waits) return;
  if (noted.suspicion) {
    if (--apart[step] == 0) apart.erase(step);
  } else {
    again[step].erase({noted.not_before, task.index});
  }
  backoffs.erase({noted.not_before, step, task.index});
}

void Index::refresh(const State& state, const JobId& job, StepIndex step) {
  const StepKey key{job, step};
  const Job& owner = state.jobs.at(job);
  const auto position = static_cast<std::size_t>(step.value());
  auto waiting = again.find(key);
  if (waiting != again.end() && waiting->second.empty()) {
    again.erase(waiting);
    waiting = again.end();
  }
  if (owner.steps[position].study) refresh_deadline(state, key);
  const bool wants =
      fresh_tasks(owner.steps[position]) > 0 || waiting != again.end() || apart.contains(key);
  const auto& parallel = owner.spec->steps[position].parallel;
  const bool room = !parallel.has_value() || owner.steps[position].lanes < *parallel;
  const bool run_here = !owner.spec->steps[position].is_external();
  const bool now_ready = run_here && wants && room && may_run(owner, step);
  auto was = ready_at_.find(key);
  if (!now_ready && was != ready_at_.end()) {
    ready.erase(was->second);
    ready_at_.erase(was);
  } else if (now_ready && was == ready_at_.end()) {
    const sched::QueueKey at = queue_key(owner, step);
    ready[at] = key;
    ready_at_[key] = at;
  }
}

Searcher& Index::searcher(const State& state, const StepKey& key) {
  auto found = searchers_.find(key);
  if (found == searchers_.end()) {
    found = searchers_.try_emplace(key, state.jobs.at(key.job).spec, key.step).first;
  }
  found->second.catch_up(*step_of(state, key.job, key.step).study);
  return found->second;
}

std::size_t Index::make_searchers(const State& state, std::size_t trials_max) {
  std::size_t made = 0;
  std::size_t trials = 0;
  for (const auto& [id, job] : state.jobs) {
    // A paused one begins anew when it is resumed.
    const bool runs = !model::is_end(job.status) && job.status != Status::kQueued &&
                      job.status != Status::kPaused;
    if (!runs) continue;
    for (std::size_t at = 0; at < job.steps.size(); ++at) {
      const Step& step = job.steps[at];
      if (!step.study || model::is_end(step.status)) continue;
      const std::size_t all = step.study->trials.size() + job.spec->steps[at].search->from.size();
      if (trials + all > trials_max) continue;
      trials += all;
      searcher(state, {id, StepIndex(static_cast<std::int32_t>(at))});
      ++made;
    }
  }
  return made;
}

void Index::drop_searchers(const Job& job) {
  if (!model::is_end(job.status) && job.status != Status::kQueued) return;
  const auto first = searchers_.lower_bound({job.id, StepIndex(0)});
  auto end = first;
  while (end != searchers_.end() && end->first.job == job.id) ++end;
  searchers_.erase(first, end);
}

namespace {

// When the open lanes will have spent the search's budget.
std::optional<Time> budget_end(const Step& step, const model::SearchSpec& search) {
  if (search.budget.is_zero() || step.rate.paid.is_zero()) return std::nullopt;
  constexpr std::int64_t kMillisPerHour = 3'600'000;
  const Money left = std::max(Money(), search.budget - step.spent.paid);
  Duration lasts = Duration::millis(muldiv(left.nanos(), kMillisPerHour, step.rate.paid.nanos()));
  if (model::cost_of(step.rate, lasts).paid < left) lasts = lasts + Duration::millis(1);
  return step.accrued_at + lasts;
}

std::optional<Time> search_end(const Step& step, const model::StepSpec& spec) {
  const model::SearchSpec& search = *spec.search;
  // One that is run outside may wait for ever for somebody to ask for it.
  const bool waits = fresh_tasks(step) > 0 ||
                     (spec.is_external() && count_of(step.counts, Status::kRecovering) > 0);
  const bool asks = !step.study->trials.empty() && waits;
  std::optional<Time> end = budget_end(step, search);
  if (!asks || search.max_duration.is_zero()) return end;
  const Time last = step.study->begun_at + search.max_duration;
  return end ? std::min(*end, last) : last;
}

}  // namespace

void Index::refresh_deadline(const State& state, const StepKey& key) {
  if (auto was = deadline_at_.find(key); was != deadline_at_.end()) {
    deadlines.erase({was->second, key});
    deadline_at_.erase(was);
  }
  const Step& step = step_of(state, key.job, key.step);
  if (!step.study || model::is_end(step.status)) return;
  const auto end = search_end(step, spec_of(state, key.job, key.step));
  if (!end) return;
  deadline_at_[key] = *end;
  deadlines.insert({*end, key});
}

void Index::keep_key(const KeyName& key, Time at) {
  drop_key(key);
  keyed_at_[key] = at;
  keys.emplace(at, key);
}

void Index::drop_key(const KeyName& key) {
  const auto kept = keyed_at_.find(key);
  if (kept == keyed_at_.end()) return;
  keys.erase({kept->second, key});
  keyed_at_.erase(kept);
}

void Index::open(const State& state, const Lane& lane) {
  Held& held = held_[lane.id];
  held.step = StepKey{lane.job, lane.step};
  held.apart = lane.apart;
  for (const model::Place& place : lane.places()) {
    lanes_on[place.node].insert(lane.id);
    held.amounts[place.node].add(held_by(state, lane, place));
    if (place.devices.empty()) continue;
    model::Devices& taken = devices[place.node];
    CHECK(!model::overlap(taken, place.devices), "a device is granted to two lanes");
    model::insert(taken, place.devices);
    held.devices[place.node] = place.devices;
  }
  for (const auto& [node, amount] : held.amounts) {
    InUse& in_use = in_use_[node];
    in_use.amount.add(amount);
    ++in_use.apart[lane.apart];
  }
}

void Index::close(const State& state, LaneId lane) {
  forget_end(lane);
  const Held held = std::move(held_.at(lane));
  held_.erase(lane);
  for (const auto& [node, freed] : held.devices) model::erase(devices.at(node), freed);
  for (const auto& [node, amount] : held.amounts) {
    lanes_on[node].erase(lane);
    InUse& in_use = in_use_.at(node);
    in_use.amount.subtract(amount);
    if (--in_use.apart.at(held.apart) == 0) in_use.apart.erase(held.apart);
    settle_host(state, node);
  }
  settle_queue(state, lane);
  refresh(state, held.step.job, held.step.step);
}

void Index::settle_node(const State& state, const NodeId& id) {
  settle_host(state, id);
  if (state.nodes.at(id).is_member()) {
    known.join(idle_host(state.nodes.at(id)));
  } else {
    known.leave(id);
  }
  settle_quarantine(state, id);
  if (auto was = leaving_at_.find(id); was != leaving_at_.end()) {
    leaving.erase({was->second, id});
    leaving_at_.erase(was);
  }
  const Node& node = state.nodes.at(id);
  if (!node.up || node.leaves_at == Time()) return;
  leaving_at_[id] = node.leaves_at;
  leaving.insert({node.leaves_at, id});
}

void Index::settle_quarantine(const State& state, const NodeId& id) {
  if (auto was = returning_at_.find(id); was != returning_at_.end()) {
    returning.erase({was->second, id});
    returning_at_.erase(was);
  }
  std::optional<Time> next;
  for (const model::QuarantinedDevice& device : state.nodes.at(id).quarantined) {
    if (device.again_at != Time()) next = next ? std::min(*next, device.again_at) : device.again_at;
  }
  if (!next) return;
  CHECK(*next > Time(), "a device is granted again before time began");
  returning_at_[id] = *next;
  returning.insert({*next, id});
}

void Index::settle_host(const State& state, const NodeId& id) {
  cluster.leave(id);
  const Node& node = state.nodes.at(id);
  const std::int64_t number = apart_on(id);
  if (!node.takes_work()) {
    if (!lanes_on[id].empty()) cluster.hold(id, node.info.runner, number, std::ssize(lanes_on[id]));
    return;
  }
  const model::Resources used = in_use_[id].amount;
  sched::Host host = idle_host(node);
  host.capacity = host.capacity.beyond(model::amount_of(quarantined_on(node)));
  // A node that joined again smaller than what runs on it, or lost what is in use, has nothing
  // free, not less than nothing.
  host.free = host.capacity.beyond(used);
  host.overdrawn = used.beyond(host.capacity);
  host.withheld = !node.grants_devices();
  if (host.withheld) host.free.accelerators.clear();
  host.apart = number;
  cluster.join(std::move(host));
}

// Lanes that were opened for a crash stand apart for as long as it has suspects, also once their
// own task is cleared.
std::int64_t Index::apart_on(const NodeId& node) const {
  const auto in_use = in_use_.find(node);
  if (in_use == in_use_.end()) return 0;
  std::set<std::int64_t> numbers;
  for (const auto& [crash, lanes] : in_use->second.apart) {
    numbers.insert(suspects.contains(crash) ? crash : 0);
  }
  return sched::shared_number(numbers);
}

void Index::settle_lane(const State& state, const Lane& lane) {
  for (const model::Place& place : lane.places()) settle_host(state, place.node);
}

void Index::settle_queue(const State& state, LaneId lane) {
  crowd(state, lane);
  lease(state, lane);
  if (held_.contains(lane)) expect_end(state, lane);
}

void Index::expect_end(const State& state, LaneId id) {
  forget_end(id);
  Held& held = held_.at(id);
  held.ends_by = end_of_lane(state, state.lanes.at(id));
  for (const auto& [node, amount] : held.amounts) {
    ends.emplace(sched::LaneEndKey{held.ends_by, node, id.value()}, amount);
  }
}

void Index::forget_end(LaneId id) {
  const Held& held = held_.at(id);
  for (const auto& [node, amount] : held.amounts) ends.erase({held.ends_by, node, id.value()});
}

void Index::lease(const State& state, LaneId id) {
  released.erase(id);
  if (auto was = leased_until_.find(id); was != leased_until_.end()) {
    leases.erase({was->second, id});
    leased_until_.erase(was);
  }
  const auto lane = state.lanes.find(id);
  if (lane == state.lanes.end() || lane->second.queue.empty()) return;
  const model::Lease* lease = lane->second.lease();
  if (lease == nullptr) return;
  leased_until_[id] = lane->second.progress_at + lease->length;
  leases.insert({leased_until_[id], id});
  const Step& step = step_of(state, lane->second.job, lane->second.step);
  if (step.tasks.at(lane->second.queue.front()).live->stopping) released.insert(id);
}

void Index::crowd(const State& state, LaneId id) {
  if (auto was = congested_at_.find(id); was != congested_at_.end()) {
    congested.erase({was->second, id});
    congested_at_.erase(was);
  }
  auto lane = state.lanes.find(id);
  if (lane == state.lanes.end() || lane->second.queue.size() < 2) return;
  // Those already asked back need no second asking.
  const Step& step = step_of(state, lane->second.job, lane->second.step);
  if (step.tasks.at(lane->second.queue.back()).live->stopping.has_value()) return;
  congested_at_[id] = lane->second.progress_at + kAheadPatience;
  congested.insert({congested_at_[id], id});
}

}  // namespace runnel::brain
