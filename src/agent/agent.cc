#include "agent/agent.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/environment.h"
#include "base/append.h"
#include "base/check.h"
#include "runner/report_text.h"

namespace runnel::agent {
namespace {

constexpr Duration kCausesNotedWithin = Duration::millis(100);
constexpr const char* kWaitsForOther = "another attempt of the same task, which has not ended here";

runner::AttemptOnNode of_fact(const runner::RankFact& fact) {
  return {fact.node, fact.report.attempt};
}

// The rank whose metrics are told has ended.
bool is_last_word(const runner::RankFact& fact) {
  return fact.state == runner::RankFact::State::kEnded && fact.report.rank == 0;
}

bool has_failed(const runner::RankFact& fact) {
  return fact.state == runner::RankFact::State::kEnded &&
         (fact.report.code != 0 || fact.report.signal != 0);
}

std::string end_text(const model::RankReport& report) {
  if (report.signal != 0) return "ended by signal " + std::to_string(report.signal);
  return "exited with code " + std::to_string(report.code);
}

std::vector<runner::AttemptOnNode> ended_in(const std::vector<runner::RankFact>& facts) {
  std::vector<runner::AttemptOnNode> ended;
  for (const runner::RankFact& fact : facts) {
    if (is_last_word(fact)) ended.push_back(of_fact(fact));
  }
  return ended;
}

std::vector<HealthWatch::EndedRank> ended_ranks(const std::vector<runner::RankFact>& facts) {
  std::vector<HealthWatch::EndedRank> ended;
  for (const runner::RankFact& fact : facts) {
    if (fact.state != runner::RankFact::State::kEnded) continue;
    ended.push_back({fact.report.attempt, fact.report.rank});
  }
  return ended;
}

std::vector<model::RankReport> lost_in(const std::vector<model::RankReport>& ranks) {
  std::vector<model::RankReport> lost;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(lost), [](const auto& report) {
    return report.ended && report.cause == model::EndCause::kRunnerLost;
  });
  return lost;
}

// Each node says what all of them lost with the runner that they share.
void tell_beside(std::map<NodeId, node::Inventory>& inventories) {
  for (const auto& [lost_on, inventory] : inventories) {
    const std::vector<model::RankReport> lost = lost_in(inventory.has.ranks);
    if (lost.empty()) continue;
    for (auto& [node, told] : inventories) {
      if (node != lost_on) told.beside.push_back({lost_on, lost});
    }
  }
}

PlaceContext place_context(const AgentOptions& options) {
  PlaceContext context{inheritable(options.environment), options.python_path};
  if (!options.api.empty()) context.inherited.push_back("RUNNEL_API=" + options.api);
  return context;
}

}  // namespace

Agent::Agent(async::EventLoop& loop, env::Clock& clock, AgentOptions options, AgentEvents events)
    : loop_(loop),
      clock_(clock),
      options_(std::move(options)),
      events_(std::move(events)),
      runner_(loop, clock,
              {.home = options_.home,
               .epoch = options_.epoch,
               .command = options_.runner_command,
               .environment = detached_environment(options_.environment)}),
      watch_(loop, clock, options_.home),
      preparer_(loop, clock, options_.home, place_context(options_), options_.secrets,
                options_.volume_command),
      held_ends_(loop, clock, preparer_, gate_,
                 {.is_ours = [this](const NodeId& node) { return cores_.contains(node); },
                  // From then on it says nothing more, which is no hang.
                  .held =
                      [this](const runner::RankFact& fact) {
                        health_.end({fact.report.attempt, fact.report.rank});
                      },
                  .tell = [this](runner::RankFact fact) { take_held(std::move(fact)); }}),
      metrics_(loop, clock, options_.home,
               [this](const NodeId& node, std::vector<model::MetricReport> metrics) {
                 tell(node, {{}, std::move(metrics), {}});
               }),
      health_(loop, clock, options_.home,
              [this](const NodeId& node, model::HealthReport report) {
                tell(node, {{}, {}, {std::move(report)}});
              }),
      devices_(loop, clock, options_.device_command, options_.home + "/devices.json",
               options_.nodes,
               [this](const NodeId& node, model::DeviceReport report) {
                 tell(node, {{}, {}, {}, std::move(report)});
               }),
      files_(loop, options_.home,
             {events_.leftovers, [this](const JobId& job) { return in_use(job); },
              [this](const JobId& job) { close_job(job); }, events_.on_notice}),
      output_(loop, clock, options_.home, options_.device_command),
      gate_(loop),
      joined_(loop) {
  const node::Stamp none_taken{{}, {}, options_.epoch, 0};
  const auto has_beside = [this](const model::AttemptRef& attempt) {
    return std::any_of(cores_.begin(), cores_.end(),
                       [&](const auto& core) { return core.second.has_other(attempt); });
  };
  for (const model::NodeInfo& info : options_.nodes) {
    cores_.try_emplace(info.id, info.id, none_taken, options_.limits, has_beside);
  }
}

Agent::~Agent() { CHECK(!started_, "an agent is destroyed before stop()"); }

Async<void> Agent::start() {
  CHECK(!std::exchange(started_, true), "an agent starts twice");
  CO_TRY(output_.start());
  CO_TRY(files_.start());
  CO_TRY(devices_.start());
  CO_TRY(co_await watch_.start());
  CO_TRY(loop_.spawn(gate_, keep_runner()));
  CO_TRY(loop_.spawn(gate_, watch_.run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, watch_.run_polling(gate_.token())));
  CO_TRY(loop_.spawn(gate_, metrics_.run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, health_.run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, devices_.run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, drop_quiet_logs(gate_.token())));
  const auto standing = [this](const runner::AttemptOnNode& of) { return standing_of(of); };
  CO_TRY(loop_.spawn(gate_,
                     preparer_.keep_taking_back(standing, Preparer::kAgainEvery, gate_.token())));
  co_return co_await first_meeting();
}

// A runner that does not answer keeps nobody from being answered.
Async<void> Agent::first_meeting() {
  const Duration until = clock_.boot() + options_.meet_max;
  while (!joined_once_ && !refused_) {
    const Duration left = until - clock_.boot();
    if (left <= Duration()) co_return {};
    CO_TRY(co_await joined_.wait_for(left, gate_.token()));
  }
  if (refused_) co_return *refused_;
  co_return {};
}

Async<void> Agent::stop() {
  runner_.send(runner::Leave{});
  // One turn, for the writer to take what was sent.
  (void)co_await loop_.sleep(Duration::millis(1));
  // A store or a file may keep an attempt for minutes.
  const async::StopCallback let_go(gate_.token(), [this] { preparer_.stop(); });
  (void)co_await gate_.close();
  (void)co_await devices_.stop();
  (void)co_await watch_.stop();
  (void)co_await files_.stop();
  (void)co_await output_.stop();
  started_ = false;
  co_return {};
}

// --- The runner.

Async<void> Agent::meet_runner() {
  runner::Welcome welcome = CO_TRY(co_await runner_.connect(gate_.token()));
  inventory_.clear();
  incarnation_ = std::move(welcome.incarnation);
  runner_pid_ = welcome.pid;
  runner_notice_ = std::move(welcome.notice);
  crashed_idle_ = welcome.crashed_idle;
  co_return {};
}

// Serves the connection, and makes a new one when it ends.
Async<void> Agent::keep_runner() {
  const async::StopToken stop = gate_.token();
  while (!stop.stopped()) {
    if (runner_.connected()) {
      Result<void> ended = co_await runner_.serve(
          stop, [this](runner::Message message) { return take_message(std::move(message)); });
      CO_TRY(stop.check());
      lose_runner();
      const bool is_there = std::exchange(hung_up_, false);
      const std::string why = ended.ok() ? "the runner has ended" : ended.error().to_string();
      if (!is_there) events_.on_runner_lost(why);
    }
    Result<void> met = co_await meet_runner();
    CO_TRY(stop.check());
    if (met.ok()) continue;
    if (!joined_once_ && met.error().code != Errc::kTimeout) refused_ = met.error();
    joined_.notify_all();
    events_.on_runner_lost(met.error().to_string());
    CO_TRY(co_await loop_.sleep(kReconnectAfter, stop));
  }
  co_return {};
}

void Agent::lose_runner() {
  ready_ = false;
  for (auto& [id, core] : cores_) core.lose_runner();
}

// It is there: the next connection begins with its inventory.
void Agent::join_again() {
  hung_up_ = hung_up_ || runner_.connected();
  runner_.hang_up();
}

Async<void> Agent::take_message(runner::Message message) {
  auto* facts = std::get_if<runner::Facts>(&message);
  if (facts == nullptr) co_return {};
  if (facts->kind == runner::FactsKind::kNews) {
    held_ends_.take_from(facts->ranks);
    take_news(std::move(*facts));
    co_return {};
  }
  if (ready_ || inventory_.empty()) {
    CO_TRY(co_await preparer_.load_unfinished());
    begin_inventory();
  }
  held_ends_.replace_in(facts->ranks);
  CO_TRY(co_await follow_again(facts->ranks));
  // An inventory is whole or none: what comes after it waits for what its trials said last.
  MetricsWatch::Reports metrics =
      CO_TRY(co_await metrics_.finish(ended_in(facts->ranks), Duration(), gate_.token()));
  CO_TRY(gate_.token().check());
  take_inventory(std::move(*facts), std::move(metrics));
  co_return {};
}

// Whatever was known before is told by the new one.
void Agent::begin_inventory() {
  ready_ = false;
  finished_.clear();
  strangers_.clear();
  ++inventories_;
  places_.clear();
  metrics_.forget_all();
  metrics_.pause();
  health_.forget_all();
  for (auto& [id, core] : cores_) core.meet(incarnation_);
  note_held_back();
  for (const model::NodeInfo& node : options_.nodes) {
    inventory_[node.id] = {node, {}, crashed_idle_, {}};
  }
}

// Nobody told which attempts from before our time are trials: all of them are looked at, those that
// wait at the runner, and those that ended while nobody looked.
Async<void> Agent::follow_again(std::vector<runner::RankFact> facts) {
  std::erase_if(facts, [this](const runner::RankFact& fact) {
    return fact.report.rank != 0 || !inventory_.contains(fact.node);
  });
  std::vector<model::TaskRef> tasks;
  tasks.reserve(facts.size());
  for (const runner::RankFact& fact : facts) tasks.push_back(fact.report.attempt.task);
  CO_TRY(co_await preparer_.load_plans(std::move(tasks)));
  for (const runner::RankFact& fact : facts) {
    output::MetricPlanPtr plan = preparer_.plan_of(fact.report.attempt.task);
    if (plan && plan->objectives.empty()) continue;
    metrics_.follow(of_fact(fact), std::move(plan), 0);
  }
  co_return {};
}

void Agent::take_inventory(runner::Facts facts, MetricsWatch::Reports metrics) {
  for (runner::RankFact& fact : facts.ranks) {
    const auto node = inventory_.find(fact.node);
    if (node == inventory_.end()) {
      take_stranger(fact);
      continue;
    }
    fact.report.published = preparer_.published_by(of_fact(fact));
    cores_.at(fact.node).has(fact.report, fact.state != runner::RankFact::State::kQueued);
    if (fact.state != runner::RankFact::State::kEnded) watch_log(fact.report.attempt.task.job);
    if (is_last_word(fact)) append_all(node->second.has.metrics, std::move(metrics[of_fact(fact)]));
    node->second.has.ranks.push_back(std::move(fact.report));
  }
  if (facts.kind == runner::FactsKind::kInventoryEnd) finish_inventory();
}

// A rank of a node that this home has no more.
void Agent::take_stranger(const runner::RankFact& fact) {
  const runner::AttemptOnNode of = of_fact(fact);
  if (fact.state == runner::RankFact::State::kEnded) {
    if (!strangers_.contains(of)) runner_.send(runner::ForgetBatch{{of}});
    return;
  }
  if (strangers_[of].insert(fact.report.rank).second) {
    runner_.send(runner::StopBatch{{{of, kStrangersGrace, model::StopReason::kCancelled}}});
  }
}

// Once the last has ended the runner is met anew.
void Agent::end_stranger(const runner::RankFact& fact) {
  const auto found = strangers_.find(of_fact(fact));
  if (found == strangers_.end() || fact.state != runner::RankFact::State::kEnded) return;
  found->second.erase(fact.report.rank);
  if (!found->second.empty()) return;
  strangers_.erase(found);
  if (strangers_.empty()) join_again();
}

void Agent::finish_inventory() {
  if (!strangers_.empty()) {
    inventory_.clear();
    return;
  }
  ready_ = true;
  metrics_.go_on();
  std::map<NodeId, node::Inventory> inventories = std::exchange(inventory_, {});
  CHECK(inventories.size() == cores_.size(), "an inventory of some of the nodes");
  tell_beside(inventories);
  for (auto& [node, inventory] : inventories) {
    if (away_.contains(node)) continue;
    inventory.has.devices = devices_.report(node);
    for (node::Up& each : cores_.at(node).join(std::move(inventory))) {
      events_.on_message(std::move(each));
    }
  }
  joined_once_ = true;
  joined_.notify_all();
  take_news({runner::FactsKind::kNews, std::exchange(finished_, {})});
  (void)loop_.spawn(gate_, files_.sweep(gate_.token()));
  const auto standing = [this](const runner::AttemptOnNode& of) { return standing_of(of); };
  (void)loop_.spawn(gate_, preparer_.take_back_unwanted(standing, gate_.token()));
}

// The inventory that is under way says that it runs.
void Agent::take_held(runner::RankFact fact) {
  if (!ready_) return finished_.push_back(std::move(fact));
  take_news({runner::FactsKind::kNews, {std::move(fact)}});
}

void Agent::take_news(runner::Facts facts) {
  NewsByNode news;
  std::map<JobId, std::vector<runner::RankFact>> later;  // Ends whose metrics are read first.
  runner::ForgetBatch forgets;
  for (runner::RankFact& fact : facts.ranks) {
    const auto core = cores_.find(fact.node);
    if (core == cores_.end()) end_stranger(fact);
    if (core == cores_.end() || fact.state == runner::RankFact::State::kQueued) continue;
    fact.report.published = preparer_.published_by(of_fact(fact));
    const node::NodeCore::Reported heard = core->second.on_report(fact.report);
    if (heard.drop_record) {
      forgets.attempts.push_back(of_fact(fact));
      end_parts(of_fact(fact));
    }
    if (!heard.tell) continue;
    if (heard.begins) {
      health_.begin(of_fact(fact));
      if (preparer_.has_parts(of_fact(fact))) {
        (void)loop_.spawn(gate_, preparer_.hand_over_parts(of_fact(fact)));
      }
    }
    const bool ended = fact.state == runner::RankFact::State::kEnded;
    const bool looked_for = may_lack_a_device(fact) || may_have_a_cause(fact);
    const bool has_last_words = ended && health_.has_last_words(fact.report.attempt);
    if (ended && !has_last_words) health_.end({fact.report.attempt, fact.report.rank});
    if (looked_for || has_last_words || (is_last_word(fact) && metrics_.follows(of_fact(fact)))) {
      later[fact.report.attempt.task.job].push_back(std::move(fact));
    } else {
      news[fact.node].ranks.push_back(std::move(fact.report));
    }
  }
  if (!forgets.attempts.empty()) runner_.send(forgets);
  hand_over();
  tell(std::move(news));
  for (auto& [job, ends] : later) {
    (void)loop_.spawn(gate_, take_ends(std::move(ends), inventories_));
  }
}

// A failure that the want of a device may explain is told after a look at the devices.
bool Agent::may_lack_a_device(const runner::RankFact& fact) const {
  return has_failed(fact) && devices_.watches() && devices_.report(fact.node).has_value();
}

// One that nobody has ended or has a word for, of an attempt that something was made ready for.
bool Agent::may_have_a_cause(const runner::RankFact& fact) const {
  const runner::AttemptOnNode of = of_fact(fact);
  return has_failed(fact) && fact.report.cause == model::EndCause::kExited &&
         fact.report.message.empty() &&
         (preparer_.has_lasting_parts(of) || preparer_.has_parts(of));
}

// Adds to how each ended what it may have ended by, as far as that is known. Whoever notes a cause
// is another process, and may do so a moment after its reader has ended.
Async<void> Agent::add_causes(std::vector<runner::RankFact>& facts) {
  const bool may_any = std::any_of(facts.begin(), facts.end(),
                                   [this](const auto& fact) { return may_have_a_cause(fact); });
  if (!may_any) co_return {};
  CO_TRY(co_await loop_.sleep(kCausesNotedWithin, gate_.token()));
  for (runner::RankFact& fact : facts) {
    if (!may_have_a_cause(fact)) continue;
    model::RankReport& report = fact.report;
    const Result<std::string> cause =
        co_await preparer_.likely_cause(of_fact(fact), report.started_at);
    CO_TRY(gate_.token().check());
    CHECK(report.message.empty(), "an end has a word already");
    if (!cause.ok()) break;  // A disk that does not answer holds up no others.
    if (!cause->empty()) report.message = runner::report_text(end_text(report) + ", and " + *cause);
  }
  co_return {};
}

// After what they said last. A new inventory tells of them, too.
Async<void> Agent::take_ends(std::vector<runner::RankFact> facts, std::int64_t inventory) {
  // Told at once: an inventory that comes while the rest is waited for tells it with the ends.
  HealthWatch::Found health = CO_TRY(co_await health_.finish(ended_ranks(facts)));
  for (auto& [node, report] : health) tell(node, {{}, {}, {std::move(report)}});
  const bool looked_for = std::any_of(facts.begin(), facts.end(),
                                      [this](const auto& fact) { return may_lack_a_device(fact); });
  if (looked_for) {
    Result<void> looked = co_await devices_.look_again(gate_.token());
    CO_TRY(gate_.token().check());
    (void)looked;  // Without an answer the end counts as it is.
  }
  CO_TRY(co_await add_causes(facts));
  Result<MetricsWatch::Reports> finished =
      co_await metrics_.finish(ended_in(facts), kLastReportsMax, gate_.token());
  CO_TRY(gate_.token().check());
  MetricsWatch::Reports metrics = CO_TRY(std::move(finished));
  if (inventory != inventories_) co_return {};
  NewsByNode news;
  for (runner::RankFact& fact : facts) {
    append_all(news[fact.node].metrics, std::move(metrics[of_fact(fact)]));
    news[fact.node].ranks.push_back(std::move(fact.report));
  }
  tell(std::move(news));
  co_return {};
}

// The inventory tells what is not told before the join.
void Agent::tell(const NodeId& node, node::News news) {
  if (away_.contains(node)) return;
  node::NodeCore& core = cores_.at(node);
  core.tell(std::move(news));
  if (core.has_news() && !std::exchange(reports_soon_, true)) {
    (void)loop_.spawn(gate_, report_soon());
  }
}

Async<void> Agent::report_soon() {
  CO_TRY(co_await loop_.yield());
  report_news();
  co_return {};
}

void Agent::report_news() {
  reports_soon_ = false;
  for (auto& [node, core] : cores_) {
    for (node::Up& each : core.reports()) events_.on_message(std::move(each));
  }
}

void Agent::tell(NewsByNode news) {
  for (auto& [node, each] : news) tell(node, std::move(each));
}

// --- Orders.

Result<void> Agent::apply(model::NodeOrders orders) {
  const NodeId node = orders.node;
  node::NodeCore::Work work = cores_.at(node).take(std::move(orders), clock_.wall());
  Result<void> taken;
  if (work.dropped) taken = *work.dropped;
  perform(node, std::move(work));
  return taken;
}

void Agent::perform(const NodeId& node, node::NodeCore::Work work) {
  for (const JobId& job : work.remove) (void)loop_.spawn(gate_, files_.remove(job));
  if (work.inventory) return join_again();
  runner::ForgetBatch forgets;
  for (const model::AttemptRef& attempt : work.drop_records) {
    health_.forget(attempt);
    forgets.attempts.push_back({node, attempt});
    end_parts({node, attempt});
  }
  if (!forgets.attempts.empty()) runner_.send(forgets);
  for (const model::AttemptRef& attempt : work.let_go) drop({node, attempt});
  for (node::NodeCore::Preparation& each : work.prepare) prepare(node, std::move(each));
  for (const model::WatchOrder& order : work.watch) {
    const node::LocalAttempt* attempt = cores_.at(node).find(order.attempt);
    if (attempt == nullptr) continue;  // It failed just now, above.
    const auto begun = attempt->begun ? HealthWatch::Begun::kYes : HealthWatch::Begun::kNo;
    health_.follow(node, order, begun, attempt->ended);
  }
  hand_over();
  runner::StopBatch stops;
  for (const model::StopOrder& order : work.stop) {
    held_ends_.stop({node, order.attempt}, order.grace);
    stops.stops.push_back({{node, order.attempt}, order.grace, order.reason});
  }
  if (!stops.stops.empty()) runner_.send(stops);
  give_up(node, std::move(work.not_started));
}

void Agent::take_away(const NodeId& node) {
  report_news();
  away_.insert(node);
  perform(node, cores_.at(node).end_all(clock_.wall()));
}

void Agent::bring_back(const NodeId& node) {
  away_.erase(node);
  join_again();
}

void Agent::prepare(const NodeId& node, node::NodeCore::Preparation preparation) {
  watch_log(preparation.order.attempt.task.job);
  std::optional<Result<Preparer::Prepared>> made = preparer_.at_once(node, preparation.order);
  if (made) return end_preparation(node, preparation, *std::move(made));
  (void)loop_.spawn(gate_, prepare_files(node, std::move(preparation)));
}

Async<void> Agent::prepare_files(NodeId node, node::NodeCore::Preparation preparation) {
  Result<Preparer::Prepared> made =
      co_await preparer_.prepare(node, preparation.order, gate_.token());
  CO_TRY(gate_.token().check());
  end_preparation(node, preparation, std::move(made));
  if (ready_) hand_over();
  co_return {};
}

// Only a search waits for reports; of other steps the plan is kept for those who read them later.
void Agent::end_preparation(const NodeId& node, const node::NodeCore::Preparation& preparation,
                            Result<Preparer::Prepared> made) {
  const model::StartOrder& order = preparation.order;
  node::NodeCore& core = cores_.at(node);
  if (!made.ok()) {
    return give_up(node,
                   core.failed(order.attempt, preparation.number, made.error(), clock_.wall()));
  }
  const runner::AttemptOnNode of{node, order.attempt};
  if (!core.prepared(order.attempt, preparation.number)) return take_back(of);
  if (order.first_rank == 0 && !order.objectives.empty()) {
    metrics_.follow(of, std::move(made->plan), made->output_from);
  }
  places_.insert_or_assign(of, std::move(made->place));
}

Preparer::Standing Agent::standing_of(const runner::AttemptOnNode& of) const {
  if (!ready_) return Preparer::Standing::kUnknown;
  const auto core = cores_.find(of.node);
  const node::LocalAttempt* attempt =
      core == cores_.end() ? nullptr : core->second.find(of.attempt);
  if (attempt == nullptr) return Preparer::Standing::kGone;
  return attempt->begun ? Preparer::Standing::kBegun : Preparer::Standing::kOrdered;
}

// Unless it was ordered anew meanwhile.
void Agent::take_back(const runner::AttemptOnNode& of) {
  if (!preparer_.has_parts(of) || standing_of(of) != Preparer::Standing::kGone) return;
  (void)loop_.spawn(gate_, preparer_.take_back(of));
}

// What there is of an attempt that the runner never had.
void Agent::drop(const runner::AttemptOnNode& of) {
  places_.erase(of);
  held_ends_.forget(of);
  take_back(of);
  metrics_.forget(of);
  health_.forget(of.attempt);
}

// Control knows how it ended.
void Agent::end_parts(const runner::AttemptOnNode& of) {
  held_ends_.forget(of);
  if (preparer_.has_lasting_parts(of)) (void)loop_.spawn(gate_, preparer_.end(of));
}

void Agent::give_up(const NodeId& node, std::vector<model::RankReport> not_started) {
  for (const model::RankReport& rank : not_started) drop({node, rank.attempt});
  tell(node, {std::move(not_started), {}, {}});
}

// In batches of a bounded size, as long as the runner has room. Those that were held back are made
// ready first: what needs no work for it goes at once.
void Agent::hand_over() {
  for (auto& [node, core] : cores_) {
    for (node::NodeCore::Preparation& each : core.released()) prepare(node, std::move(each));
  }
  note_held_back();
  runner::StartBatch batch;
  std::size_t bytes = 0;
  for (auto& [node, core] : cores_) {
    for (const model::AttemptRef& attempt : core.next()) {
      const auto place = places_.find({node, attempt});
      CHECK(place != places_.end(), "it is the turn of what was never made ready");
      bytes += bytes_of(place->second);
      batch.places.push_back(std::move(place->second));
      places_.erase(place);
      if (bytes < kBatchBytesMax) continue;
      runner_.send(std::exchange(batch, {}));
      bytes = 0;
    }
  }
  if (!batch.places.empty()) runner_.send(batch);
}

// --- Jobs.

bool Agent::in_use(const JobId& job) const {
  return std::any_of(cores_.begin(), cores_.end(),
                     [&](const auto& entry) { return entry.second.runs(job); });
}

// It has nothing to do here any more.
void Agent::close_job(const JobId& job) {
  runner_.send(runner::RemoveJob{job});
  watch_.unwatch(job);
  quiet_since_.erase(job);
}

void Agent::watch_log(const JobId& job) {
  quiet_since_[job] = clock_.boot();
  watch_.watch(job);
}

// Watches of jobs that have nothing here any more.
Async<void> Agent::drop_quiet_logs(async::StopToken stop) {
  while (true) {
    CO_TRY(co_await loop_.sleep(kLogLinger, stop));
    const Duration now = clock_.boot();
    for (auto job = quiet_since_.begin(); job != quiet_since_.end();) {
      if (in_use(job->first)) job->second = now;
      const bool quiet = job->second + kLogLinger <= now;
      if (quiet) watch_.unwatch(job->first);
      job = quiet ? quiet_since_.erase(job) : std::next(job);
    }
  }
}

std::vector<Preparer::Waiting> Agent::waiting() const {
  std::vector<Preparer::Waiting> all = preparer_.waiting();
  for (const auto& [of, since] : held_back_) {
    if (clock_.boot() - since.second < Preparer::kSlowAfter) continue;
    all.push_back({of, kWaitsForOther, since.first, since.second});
  }
  return all;
}

void Agent::note_held_back() {
  std::map<runner::AttemptOnNode, std::pair<Time, Duration>> now;
  for (const auto& [node, core] : cores_) {
    for (const model::AttemptRef& attempt : core.held_back()) {
      const auto known = held_back_.find({node, attempt});
      now.emplace(
          runner::AttemptOnNode{node, attempt},
          known != held_back_.end() ? known->second : std::pair(clock_.wall(), clock_.boot()));
    }
  }
  held_back_ = std::move(now);
}

std::vector<std::string> Agent::notices() const {
  std::vector<std::string> all = files_.notices();
  const std::vector<std::string> left = preparer_.notices();
  all.insert(all.end(), left.begin(), left.end());
  if (!runner_notice_.empty()) all.insert(all.begin(), runner_notice_);
  if (!strangers_.empty()) {
    all.push_back(
        "nothing begins before " + std::to_string(strangers_.size()) +
        " attempt(s) of nodes that nodes.yaml names no more have ended; they were asked to");
  }
  for (std::string& notice : devices_.notices()) all.push_back(std::move(notice));
  return all;
}

Async<std::vector<model::TaskUsage>> Agent::read_usage(JobId job, Duration window) {
  return output_.usage(job, window, gate_.token());
}

Async<void> Agent::log_changed(JobId job, async::StopToken stop) {
  Result<void> changed = co_await watch_.changed(job, std::move(stop));
  co_return changed;
}

}  // namespace runnel::agent
