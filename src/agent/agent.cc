#include "agent/agent.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "agent/hooks/environment.h"
#include "agent/index_file.h"
#include "agent/log_index.h"
#include "agent/log_reader.h"
#include "agent/lost_and_found.h"
#include "agent/metrics_begin.h"
#include "agent/metrics_reader.h"
#include "agent/removed_jobs.h"
#include "agent/runner/folders.h"
#include "agent/usage_reader.h"
#include "base/check.h"
#include "env/files.h"

namespace runnel::agent {
namespace {

constexpr std::string_view kDefaultCheckpointDir = "checkpoint";

constexpr std::size_t kNoticesMax = 10;

constexpr std::int32_t kCannotRun = 126;  // As a shell's.

// What the kernel hands to one program, and far more than a frame needs.
constexpr std::size_t kOrderBytesMax = 8 << 20;

std::size_t bytes_of(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 8;
  return bytes;
}

std::size_t bytes_of(const PlaceStart& place) {
  std::size_t bytes = 1'024 + bytes_of(place.argv) + place.env.bytes().size();
  for (const TextBlock& env : place.rank_env) bytes += env.bytes().size();
  return bytes;
}

AttemptOnNode of_fact(const RankFact& fact) { return {fact.node, fact.report.attempt}; }

// The rank whose metrics are told has ended.
bool is_last_word(const RankFact& fact) {
  return fact.state == RankFact::State::kEnded && fact.report.rank == 0;
}

MetricPlans::Key plan_key(const model::TaskRef& task) { return {task.job, task.step}; }

std::vector<AttemptOnNode> ended_in(const std::vector<RankFact>& facts) {
  std::vector<AttemptOnNode> ended;
  for (const RankFact& fact : facts) {
    if (is_last_word(fact)) ended.push_back(of_fact(fact));
  }
  return ended;
}

std::vector<HealthWatch::EndedRank> ended_ranks(const std::vector<RankFact>& facts) {
  std::vector<HealthWatch::EndedRank> ended;
  for (const RankFact& fact : facts) {
    if (fact.state != RankFact::State::kEnded) continue;
    ended.push_back({fact.report.attempt, fact.report.rank});
  }
  return ended;
}

void append(std::vector<model::MetricReport>& all, std::vector<model::MetricReport>& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Of an order, whose they are: enough to say that they do not start.
model::StartOrder ranks_of(const model::AttemptRef& attempt, std::int32_t first_rank,
                           std::int32_t rank_count) {
  model::StartOrder ranks;
  ranks.attempt = attempt;
  ranks.first_rank = first_rank;
  ranks.rank_count = rank_count;
  return ranks;
}

std::vector<model::RankReport> lost_in(const std::vector<model::RankReport>& ranks) {
  std::vector<model::RankReport> lost;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(lost), [](const auto& report) {
    return report.ended && report.cause == model::EndCause::kRunnerLost;
  });
  return lost;
}

// Each node says what all of them lost with the runner that they share.
void tell_beside(std::map<NodeId, model::NodeInventory>& inventories) {
  for (const auto& [lost_on, inventory] : inventories) {
    const std::vector<model::RankReport> lost = lost_in(inventory.ranks);
    if (lost.empty()) continue;
    for (auto& [node, told] : inventories) {
      if (node != lost_on) told.beside.push_back({lost_on, lost});
    }
  }
}

// "./ckpt//" is "ckpt".
std::string plain_path(std::string_view path) {
  std::string plain = path.starts_with('/') ? "/" : "";
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") {
      if (!plain.empty() && plain.back() != '/') plain += '/';
      plain += part;
    }
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return plain;
}

std::string checkpoint_dir(std::string_view named) {
  std::string plain = plain_path(named);
  return plain.empty() ? std::string(kDefaultCheckpointDir) : plain;
}

CheckpointCopy copy_of(const std::string& home, const PlaceStart& place,
                       const model::CheckpointSource& source) {
  const std::string own = task_folder(home, place.attempt.task);
  return {task_folder(home, source.task) + "/" + checkpoint_dir(source.dir),
          own + "/" + place.checkpoint_dir, own, source.number};
}

std::vector<std::string> inherited_by_tasks(const AgentOptions& options) {
  std::vector<std::string> variables = inheritable(options.environment);
  if (!options.api.empty()) variables.push_back("RUNNEL_API=" + options.api);
  return variables;
}

}  // namespace

Agent::Agent(async::EventLoop& loop, env::Clock& clock, AgentOptions options, AgentEvents events)
    : loop_(loop),
      clock_(clock),
      options_(std::move(options)),
      events_(std::move(events)),
      inherited_(inherited_by_tasks(options_)),
      runner_(loop, clock,
              {.home = options_.home,
               .epoch = options_.epoch,
               .command = options_.runner_command,
               .environment = detached_environment(options_.environment)}),
      watch_(loop, clock, options_.home),
      reads_(loop, clock),
      log_reads_(loop, clock, "agent-logs"),
      series_reads_(loop, clock, "agent-series"),
      begin_reads_(loop, clock, "agent-begins"),
      metrics_(loop, clock, options_.home,
               [this](const NodeId& node, std::vector<model::MetricReport> metrics) {
                 if (ready_) events_.on_reports({node, incarnation_, {}, std::move(metrics), {}});
               }),
      health_(loop, clock, options_.home,
              [this](const NodeId& node, model::HealthReport report) {
                if (ready_) events_.on_reports({node, incarnation_, {}, {}, {std::move(report)}});
              }),
      gate_(loop),
      joined_(loop) {}

Agent::~Agent() { CHECK(!plan_files_, "an agent is destroyed before stop()"); }

Async<void> Agent::start() {
  CHECK(!plan_files_, "an agent starts twice");
  plan_files_ =
      CO_TRY(async::Worker::create(loop_, {.name = "agent-plans", .queued_max = kWaitingMax + 1}));
  gpus_ = CO_TRY(async::Worker::create(loop_, {.name = "agent-gpus"}));
  copies_ = CO_TRY(async::Worker::create(loop_, {.name = "agent-copies"}));
  removals_ = CO_TRY(async::Worker::create(loop_, {.name = "agent-removals"}));
  Result<void> watching = co_await watch_.start();
  CO_TRY(std::move(watching));
  CO_TRY(loop_.spawn(gate_, keep_runner()));
  CO_TRY(loop_.spawn(gate_, watch_.run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, watch_.run_polling(gate_.token())));
  CO_TRY(loop_.spawn(gate_, metrics_.run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, health_.run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, drop_quiet_logs(gate_.token())));
  co_return co_await first_meeting();
}

// A runner that does not answer keeps nobody from being answered.
Async<void> Agent::first_meeting() {
  const Duration until = clock_.boot() + options_.meet_max;
  while (!joined_once_ && !refused_) {
    const Duration left = until - clock_.boot();
    if (left <= Duration()) co_return {};
    Result<async::Wake> woken = co_await joined_.wait_for(left, gate_.token());
    CO_TRY(std::move(woken));
  }
  if (refused_) co_return *refused_;
  co_return {};
}

Async<void> Agent::stop() {
  runner_.send(Leave{});
  // One turn, for the writer to take what was sent.
  (void)co_await loop_.sleep(Duration::millis(1));
  (void)co_await gate_.close();
  (void)co_await watch_.stop();
  for (std::unique_ptr<async::Worker>* worker : {&removals_, &copies_, &gpus_, &plan_files_}) {
    if (*worker) (void)co_await (*worker)->stop();
    worker->reset();
  }
  co_return {};
}

Async<void> Agent::meet_runner() {
  Result<Welcome> reply = co_await runner_.connect(gate_.token());
  Welcome welcome = CO_TRY(std::move(reply));
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
          stop, [this](Message message) { return take_message(std::move(message)); });
      CO_TRY(stop.check());
      ready_ = false;
      events_.on_runner_lost(ended.ok() ? "the runner has ended" : ended.error().to_string());
    }
    Result<void> met = co_await meet_runner();
    CO_TRY(stop.check());
    if (met.ok()) continue;
    if (!joined_once_ && met.error().code != Errc::kTimeout) refused_ = met.error();
    joined_.notify_all();
    events_.on_runner_lost(met.error().to_string());
    Result<void> slept = co_await loop_.sleep(kReconnectAfter, stop);
    CO_TRY(std::move(slept));
  }
  co_return {};
}

Async<void> Agent::take_message(Message message) {
  auto* facts = std::get_if<Facts>(&message);
  if (facts == nullptr) co_return {};
  if (facts->kind == FactsKind::kNews) {
    take_news(std::move(*facts));
    co_return {};
  }
  if (ready_ || inventory_.empty()) begin_inventory();
  Result<void> followed = co_await follow_again(facts->ranks);
  CO_TRY(std::move(followed));
  // An inventory is whole or none: what comes after it waits for what its trials said last.
  Result<MetricsWatch::Reports> finished =
      co_await metrics_.finish(ended_in(facts->ranks), Duration(), gate_.token());
  MetricsWatch::Reports metrics = CO_TRY(std::move(finished));
  CO_TRY(gate_.token().check());
  take_inventory(std::move(*facts), std::move(metrics));
  co_return {};
}

// Whatever was known before is told by the new one.
void Agent::begin_inventory() {
  ready_ = false;
  ++inventories_;
  known_.clear();
  waiting_.clear();
  preparing_.clear();
  in_flight_ = 0;
  metrics_.forget_all();
  metrics_.pause();
  health_.forget_all();
  for (auto& [job, use] : jobs_) use = {0, clock_.boot()};
  for (const NodeId& node : options_.nodes) {
    inventory_[node] = {node, incarnation_, {}, {}, crashed_idle_, {}};
  }
}

void Agent::take_inventory(Facts facts, MetricsWatch::Reports metrics) {
  ForgetBatch strangers;
  StopBatch unwanted;
  for (RankFact& fact : facts.ranks) {
    const auto node = inventory_.find(fact.node);
    if (node == inventory_.end()) {
      // Of a node that this home no longer has.
      const AttemptOnNode of = of_fact(fact);
      if (fact.state == RankFact::State::kEnded) strangers.attempts.push_back(of);
      unwanted.stops.push_back({of, Duration::seconds(5), model::StopReason::kCancelled});
      continue;
    }
    note(fact);
    if (is_last_word(fact)) append(node->second.metrics, metrics[of_fact(fact)]);
    node->second.ranks.push_back(std::move(fact.report));
  }
  if (!unwanted.stops.empty()) runner_.send(unwanted);
  if (!strangers.attempts.empty()) runner_.send(strangers);
  if (facts.kind == FactsKind::kInventoryEnd) finish_inventory();
}

void Agent::finish_inventory() {
  ready_ = true;
  metrics_.go_on();
  std::map<NodeId, model::NodeInventory> inventories = std::exchange(inventory_, {});
  tell_beside(inventories);
  for (auto& [node, inventory] : inventories) {
    events_.on_join(std::move(inventory));
  }
  joined_once_ = true;
  joined_.notify_all();
  (void)loop_.spawn(gate_, sweep());
}

// Of attempts from before our time nobody told which are trials: all of them are looked at, and
// those that ended while nobody looked.
Async<void> Agent::follow_again(std::vector<RankFact> facts) {
  std::erase_if(facts, [this](const RankFact& fact) {
    const bool begun = fact.state != RankFact::State::kQueued;
    return !begun || fact.report.rank != 0 || !inventory_.contains(fact.node);
  });
  std::set<MetricPlans::Key> unknown;
  for (const RankFact& fact : facts) {
    const MetricPlans::Key key = plan_key(fact.report.attempt.task);
    if (!plans_.find(key)) unknown.insert(key);
  }
  if (!unknown.empty()) {
    Result<void> loaded = co_await load_plans({unknown.begin(), unknown.end()});
    CO_TRY(std::move(loaded));
  }
  for (const RankFact& fact : facts) {
    MetricPlanPtr plan = plans_.find(plan_key(fact.report.attempt.task));
    if (plan && plan->objectives.empty()) continue;
    metrics_.follow(of_fact(fact), std::move(plan), 0);
  }
  co_return {};
}

Async<void> Agent::load_plans(std::vector<MetricPlans::Key> keys) {
  Result<std::vector<MetricPlanPtr>> loaded =
      co_await plan_files_->run([&home = options_.home, &keys] {
        std::vector<MetricPlanPtr> plans;
        plans.reserve(keys.size());
        for (const auto& [job, step] : keys) plans.push_back(load_metric_plan(home, job, step));
        return plans;
      });
  std::vector<MetricPlanPtr> plans = CO_TRY(std::move(loaded));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (plans[i]) plans_.remember(keys[i], std::move(plans[i]));
  }
  co_return {};
}

// An attempt that the runner has and we did not send.
void Agent::note(const RankFact& fact) {
  const AttemptOnNode of = of_fact(fact);
  const auto [entry, is_new] = known_.try_emplace(of);
  entry->second.handed_over = true;
  entry->second.running = entry->second.running || fact.state != RankFact::State::kQueued;
  if (fact.state == RankFact::State::kEnded) {
    entry->second.ended.push_back(fact.report.rank);
    return;
  }
  if (entry->second.ranks_left++ > 0) return;
  ++in_flight_;
  job_goes_on(of.attempt.task.job, 1);
}

void Agent::take_news(Facts facts) {
  Reports reports;
  std::map<JobId, std::vector<RankFact>> later;  // Whose metrics are read first.
  for (RankFact& fact : facts.ranks) {
    const auto known = known_.find({fact.node, fact.report.attempt});
    if (known == known_.end() || fact.state == RankFact::State::kQueued) continue;
    const bool ended = fact.state == RankFact::State::kEnded;
    std::int32_t& left = known->second.ranks_left;
    const bool last = ended && left == 1;
    if (ended && left > 0) --left;
    if (last) {
      CHECK(in_flight_ > 0, "more attempts ended than were handed over");
      --in_flight_;
      job_goes_on(fact.report.attempt.task.job, -1);
    }
    if (!std::exchange(known->second.running, true)) {
      health_.begin({fact.node, fact.report.attempt});
    }
    if (ended && !last) known->second.ended.push_back(fact.report.rank);
    const bool has_last_words = ended && health_.has_last_words(fact.report.attempt);
    if (ended && !has_last_words) health_.end({fact.report.attempt, fact.report.rank});
    if (has_last_words || (is_last_word(fact) && metrics_.follows(of_fact(fact)))) {
      later[fact.report.attempt.task.job].push_back(std::move(fact));
    } else {
      reports[fact.node].ranks.push_back(std::move(fact.report));
    }
  }
  hand_over();
  report(std::move(reports));
  for (auto& [job, ends] : later) {
    (void)loop_.spawn(gate_, take_ends(std::move(ends), inventories_));
  }
}

// After what they said last. A new inventory tells of them, too.
Async<void> Agent::take_ends(std::vector<RankFact> facts, std::int64_t inventory) {
  Result<HealthWatch::Found> heard = co_await health_.finish(ended_ranks(facts));
  HealthWatch::Found health = CO_TRY(std::move(heard));
  Result<MetricsWatch::Reports> finished =
      co_await metrics_.finish(ended_in(facts), kLastReportsMax, gate_.token());
  CO_TRY(gate_.token().check());
  MetricsWatch::Reports metrics = CO_TRY(std::move(finished));
  if (inventory != inventories_ || !ready_) co_return {};
  Reports reports;
  for (auto& [node, report] : health) reports[node].health.push_back(std::move(report));
  for (RankFact& fact : facts) {
    append(reports[fact.node].metrics, metrics[of_fact(fact)]);
    reports[fact.node].ranks.push_back(std::move(fact.report));
  }
  report(std::move(reports));
  co_return {};
}

void Agent::report(Reports reports) {
  for (auto& [node, report] : reports) {
    report.node = node;
    report.incarnation = incarnation_;
    events_.on_reports(std::move(report));
  }
}

Result<void> Agent::apply(const model::NodeOrders& orders) {
  if (orders.epoch < options_.epoch) {
    return Error(Errc::kPrecondition, "orders of the older epoch " +
                                          std::to_string(orders.epoch.value()) + " are refused");
  }
  for (const JobId& job : orders.remove) (void)loop_.spawn(gate_, remove_job(job));
  if (!ready_) return Error(Errc::kUnavailable, "the runner is not there; it will join again");
  if (orders.incarnation != incarnation_) {
    return Error(Errc::kPrecondition, "orders for an earlier life of the runner are dropped");
  }
  for (const model::StartOrder& order : orders.start) take_start(orders.node, order);
  for (const model::WatchOrder& order : orders.watch) take_watch(orders.node, order);
  hand_over();
  StopBatch stops;
  for (const model::StopOrder& order : orders.stop) take_stop(orders.node, order, stops);
  if (!stops.stops.empty()) runner_.send(stops);
  ForgetBatch forgets;
  for (const model::AttemptRef& attempt : orders.forget) {
    health_.forget(attempt);
    if (known_.erase({orders.node, attempt}) > 0)
      forgets.attempts.push_back({orders.node, attempt});
  }
  if (!forgets.attempts.empty()) runner_.send(forgets);
  return {};
}

void Agent::kill_all(const NodeId& node) {
  std::vector<AttemptOnNode> doomed;
  for (const auto& [of, known] : known_) {
    if (of.node == node && known.ranks_left > 0) doomed.push_back(of);
  }
  StopBatch stops;
  for (const AttemptOnNode& of : doomed) {
    take_stop(node, {of.attempt, Duration(), model::StopReason::kCancelled}, stops);
  }
  if (!stops.stops.empty()) runner_.send(stops);
}

void Agent::take_start(const NodeId& node, const model::StartOrder& order) {
  const AttemptOnNode of{node, order.attempt};
  if (known_.contains(of)) return;
  if (waiting_.size() + preparing_.size() >= kWaitingMax) {
    return refuse(
        node, order,
        Error(Errc::kFull, "more than " + std::to_string(kWaitingMax) + " attempts wait here"));
  }
  if (needs_preparation(order)) {
    known_[of].ranks_left = order.rank_count;
    job_begins(order.attempt.task.job);
    preparing_[of] = {ranks_of(order.attempt, order.first_rank, order.rank_count), ++preparations_};
    (void)loop_.spawn(gate_, prepare(node, order, preparations_));
    return;
  }
  Result<PlaceStart> place = place_of(node, order, {});
  if (!place.ok()) return refuse(node, order, place.error());
  known_[of].ranks_left = order.rank_count;
  job_begins(order.attempt.task.job);
  enqueue(std::move(*place), order, 0);
}

bool Agent::keeps_plan(const model::StartOrder& order) {
  return order.first_rank == 0 && !order.metrics.empty();
}

// An attempt that has earlier ones, whose metrics are not its own.
bool Agent::begins_again(const model::StartOrder& order) {
  return order.first_rank == 0 && order.is_followed && order.attempt.attempt.value() > 1;
}

bool Agent::reads_output(const model::StartOrder& order) {
  return order.first_rank == 0 && !order.objectives.empty() && !order.metrics.log.empty();
}

bool Agent::needs_preparation(const model::StartOrder& order) const {
  const bool plan_is_new = keeps_plan(order) && !plans_.find(plan_key(order.attempt.task),
                                                             order.metrics, order.objectives);
  return plan_is_new || begins_again(order) || reads_output(order) || !order.secrets.empty() ||
         order.checkpoint_from;
}

// Only a search waits for reports; of other steps the plan is kept for those who read them later.
void Agent::enqueue(PlaceStart place, const model::StartOrder& order, std::int64_t output_from) {
  const AttemptOnNode of{place.node, place.attempt};
  if (order.first_rank == 0 && !order.objectives.empty()) {
    const MetricPlanPtr plan = keeps_plan(order) ? plans_.find(plan_key(of.attempt.task)) : nullptr;
    metrics_.follow(of, plan, output_from);
  }
  waiting_.push_back(std::move(place));
}

// Whoever was withdrawn meanwhile, or told anew, has another preparation or none.
Async<void> Agent::prepare(NodeId node, model::StartOrder order, std::int64_t preparation) {
  Result<Prepared> made = co_await prepared(node, order);
  CO_TRY(gate_.token().check());
  const auto found = preparing_.find({node, order.attempt});
  if (found == preparing_.end() || found->second.preparation != preparation) co_return {};
  preparing_.erase(found);
  if (!made.ok()) {
    give_up(node, order, made.error());
    co_return {};
  }
  enqueue(std::move(made->place), order, made->output_from);
  if (ready_) hand_over();
  co_return {};
}

Async<Agent::Prepared> Agent::prepared(NodeId node, model::StartOrder order) {
  Prepared prepared;
  Result<SecretTexts> read = co_await read_secrets(order.attempt.task.job, order.secrets);
  const SecretTexts texts = CO_TRY(std::move(read));
  prepared.place = CO_TRY(place_of(node, order, texts));
  if (keeps_plan(order)) {
    Result<void> kept = co_await keep_plan(order);
    CO_TRY(std::move(kept));
  }
  if (begins_again(order)) {
    Result<void> kept = co_await keep_begin(order);
    CO_TRY(std::move(kept));
  }
  if (order.checkpoint_from) {
    Result<void> made =
        co_await copied(copy_of(options_.home, prepared.place, *order.checkpoint_from));
    CO_TRY(std::move(made));
  }
  if (reads_output(order)) {
    Result<std::int64_t> from = co_await output_begin(order.attempt.task.job);
    prepared.output_from = CO_TRY(std::move(from));
  }
  co_return prepared;
}

// Of an attempt that has not begun the index holds nothing yet, and may hold a million others.
// Where it stands still, whoever reads it later waits for it.
Async<std::int64_t> Agent::output_begin(JobId job) {
  const std::string logs = logs_folder(options_.home, job);
  Result<std::int64_t> records = co_await begin_reads_.run<std::int64_t>(
      logs, [logs] { return Result<std::int64_t>(IndexFile(logs).records()); }, Reach::kFolder);
  co_return records.ok() ? *records : 0;
}

Async<SecretTexts> Agent::read_secrets(JobId job, std::vector<model::SecretRef> secrets) {
  SecretTexts texts;
  for (const auto& [path, limit] : secret_files(options_.home, job, secrets)) {
    Result<std::string> text = co_await reads_.read(path, limit, gate_.token());
    texts.emplace(path, std::move(text));
  }
  co_return texts;
}

Async<void> Agent::keep_plan(model::StartOrder order) {
  const MetricPlans::Key key = plan_key(order.attempt.task);
  if (plans_.find(key, order.metrics, order.objectives)) co_return {};
  Result<MetricPlanPtr> kept = co_await plan_files_->run([&home = options_.home, &key, &order] {
    return keep_metric_plan(home, key.first, key.second, order.metrics, order.objectives);
  });
  plans_.remember(key, CO_TRY(std::move(kept)));
  co_return {};
}

Async<void> Agent::keep_begin(model::StartOrder order) {
  const MetricPlanPtr plan =
      keeps_plan(order) ? plans_.find(plan_key(order.attempt.task)) : nullptr;
  // The task's own files may lie on a dead mount, and those of the home do not.
  const auto look = [home = options_.home, attempt = order.attempt, plan] {
    return Result(look_at_metrics(home, attempt, plan));
  };
  const std::string folder = task_folder(options_.home, order.attempt.task);
  Result<MetricsBegin> looked = co_await begin_reads_.run<MetricsBegin>(folder, look);
  while (!looked.ok() && looked.error().code == Errc::kFull) {  // So many begin again at once.
    Result<void> slept = co_await loop_.sleep(kTurnAgainAfter, gate_.token());
    CO_TRY(std::move(slept));
    looked = co_await begin_reads_.run<MetricsBegin>(folder, look);
  }
  const MetricsBegin begin = CO_TRY(std::move(looked));
  CO_TRY(gate_.token().check());
  Result<void> kept = co_await plan_files_->run([&home = options_.home, &order, &begin] {
    return keep_metrics_begin(home, order.attempt.task, begin);
  });
  co_return kept;
}

Async<void> Agent::copied(CheckpointCopy copy) {
  for (int tries = 1;; ++tries) {
    Result<void> made = co_await copies_->run([copy] { return copy_checkpoint(copy); });
    const bool again =
        !made.ok() && (made.error().code == Errc::kUnavailable || made.error().code == Errc::kFull);
    if (!again || tries == kCopiesMax) co_return made;
    Result<void> slept = co_await loop_.sleep(kCopyAgainAfter, gate_.token());
    CO_TRY(std::move(slept));
  }
}

void Agent::take_watch(const NodeId& node, const model::WatchOrder& order) {
  const auto known = known_.find({node, order.attempt});
  if (known == known_.end() || known->second.ranks_left == 0) return;
  const auto begun = known->second.running ? HealthWatch::Begun::kYes : HealthWatch::Begun::kNo;
  health_.follow(node, order, begun, known->second.ended);
}

Result<PlaceStart> Agent::place_of(const NodeId& node, const model::StartOrder& order,
                                   const SecretTexts& texts) const {
  if (order.rank_count < 1) return Error(Errc::kInvalid, "an order without ranks");
  const auto secrets =
      TRY(secret_values(options_.home, order.attempt.task.job, order.secrets, texts));
  RankEnvironments environments =
      TRY(rank_environments(order, inherited_, secrets, options_.python_path));
  PlaceStart place;
  place.node = node;
  place.attempt = order.attempt;
  place.lane = order.lane;
  place.first_rank = order.first_rank;
  place.argv = order.argv;
  place.env = std::move(environments.shared);
  place.rank_env = std::move(environments.by_rank);
  place.workdir = order.workdir.empty() ? "/" : order.workdir;
  const bool lasting = order.keep_task_dir || order.num_nodes > 1;
  place.task_folder = lasting ? TaskFolderKind::kLasting : TaskFolderKind::kLane;
  place.checkpoint_dir = checkpoint_dir(order.checkpoint ? order.checkpoint->dir : "");
  place.memory_max = order.memory_max;
  place.max_duration = order.max_duration;
  place.grace = order.grace;
  place.max_log = order.max_log;
  place.port_check = order.first_rank == 0 ? order.port : 0;
  if (bytes_of(place) > kOrderBytesMax) {
    return Error(Errc::kInvalid, "command and environment take more than " +
                                     to_string(Bytes::count(kOrderBytesMax)));
  }
  TRY(check_place(place));
  return place;
}

// An order that is wrong ends as a command that cannot run; what is missing just now is tried
// again.
void Agent::refuse(const NodeId& node, const model::StartOrder& order, const Error& error) {
  const bool wrong = error.code == Errc::kInvalid;
  std::vector<model::RankReport> reports;
  for (std::int32_t i = 0; i < order.rank_count; ++i) {
    model::RankReport report;
    report.attempt = order.attempt;
    report.rank = order.first_rank + i;
    report.ended = true;
    report.ended_at = clock_.wall();
    report.cause = wrong ? model::EndCause::kExited : model::EndCause::kNotStarted;
    report.code = wrong ? kCannotRun : 0;
    report.message = error.to_string();
    reports.push_back(std::move(report));
  }
  // Later: control must not be called back while it hands us orders.
  loop_.post([this, node, incarnation = incarnation_, reports = std::move(reports)]() mutable {
    if (ready_) events_.on_reports({node, incarnation, std::move(reports), {}, {}});
  });
}

void Agent::take_stop(const NodeId& node, const model::StopOrder& order, StopBatch& batch) {
  const AttemptOnNode of{node, order.attempt};
  const auto known = known_.find(of);
  if (known == known_.end()) return;
  if (known->second.handed_over) {
    batch.stops.push_back({of, order.grace, order.reason});
  } else {
    withdraw(of);
  }
}

std::optional<model::StartOrder> Agent::take_waiting(const AttemptOnNode& of) {
  std::optional<model::StartOrder> taken;
  if (const auto found = preparing_.find(of); found != preparing_.end()) {
    taken = std::move(found->second.ranks);
    preparing_.erase(found);
    return taken;
  }
  const auto place = std::find_if(waiting_.begin(), waiting_.end(), [&](const PlaceStart& start) {
    return start.node == of.node && start.attempt == of.attempt;
  });
  if (place == waiting_.end()) return taken;
  taken = ranks_of(place->attempt, place->first_rank, place->rank_count());
  waiting_.erase(place);
  return taken;
}

// It waits here: the runner never hears of it.
void Agent::withdraw(const AttemptOnNode& of) {
  const std::optional<model::StartOrder> ranks = take_waiting(of);
  CHECK(ranks.has_value(), "an attempt neither waits nor was handed over");
  give_up(of.node, *ranks, Error(Errc::kCancelled, "stopped before it started"));
}

void Agent::give_up(const NodeId& node, const model::StartOrder& order, const Error& error) {
  const AttemptOnNode of{node, order.attempt};
  known_.erase(of);
  metrics_.forget(of);
  health_.forget(of.attempt);
  job_goes_on(of.attempt.task.job, -1);
  refuse(of.node, order, error);
}

// In batches of a bounded size, as long as the runner has room.
void Agent::hand_over() {
  StartBatch batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && in_flight_ < kInFlightMax) {
    PlaceStart& place = waiting_.front();
    Known& known = known_.at({place.node, place.attempt});
    known.handed_over = true;
    ++in_flight_;
    bytes += bytes_of(place);
    batch.places.push_back(std::move(place));
    waiting_.pop_front();
    if (bytes < kBatchBytesMax) continue;
    runner_.send(std::exchange(batch, {}));
    bytes = 0;
  }
  if (!batch.places.empty()) runner_.send(batch);
}

void Agent::job_begins(const JobId& job) {
  watch_.watch(job);
  job_goes_on(job, 1);
}

void Agent::job_goes_on(const JobId& job, std::int32_t change) {
  JobUse& use = jobs_[job];
  use.attempts += change;
  CHECK(use.attempts >= 0, "more attempts of a job ended than began");
  if (use.attempts == 0) use.quiet_since = clock_.boot();
  if (change > 0 && !watch_.watches(job)) watch_.watch(job);
}

// Watches of jobs that have nothing here any more.
Async<void> Agent::drop_quiet_logs(async::StopToken stop) {
  while (true) {
    Result<void> slept = co_await loop_.sleep(kLogLinger, stop);
    CO_TRY(std::move(slept));
    const Duration now = clock_.boot();
    for (auto use = jobs_.begin(); use != jobs_.end();) {
      const bool quiet = use->second.attempts == 0 && use->second.quiet_since + kLogLinger <= now;
      if (quiet) watch_.unwatch(use->first);
      use = quiet ? jobs_.erase(use) : std::next(use);
    }
  }
}

// However long that takes.
Async<void> Agent::remove_job(JobId job) {
  rest(job);
  Result<void> removed =
      co_await removals_->run([&home = options_.home, job] { return remove_job_files(home, job); });
  unremoved_.erase(job);
  if (!removed.ok()) {
    std::string notice = "files of the deleted job " + job.str() + " are still in " +
                         job_folder(options_.home, job) +
                         "; the daemon tries again when it starts: " + removed.error().to_string();
    events_.on_notice(notice);
    unremoved_.emplace(job, std::move(notice));
  }
  co_return {};
}

// The job has nothing to do here any more.
void Agent::rest(const JobId& job) {
  runner_.send(RemoveJob{job});
  watch_.unwatch(job);
}

bool Agent::in_use(const JobId& job) const {
  const auto use = jobs_.find(job);
  return use != jobs_.end() && use->second.attempts > 0;
}

// Nothing tells that these may be removed: what a log has lost, its user still has.
Async<void> Agent::set_aside_unknown(std::vector<JobId> jobs) {
  for (const JobId& job : jobs) {
    CO_TRY(gate_.token().check());
    if (in_use(job)) continue;
    rest(job);
    Result<std::string> moved =
        co_await removals_->run([home = options_.home, job] { return set_aside(home, job); });
    if (!moved.ok()) {
      events_.on_notice("the files of job " + job.str() +
                        ", which the event log does not know, stay: " + moved.error().to_string());
    } else if (!moved->empty()) {
      events_.on_notice("the event log does not know job " + job.str() +
                        ", nor that it was deleted: its files were moved to " + *moved);
    }
  }
  Result<std::string> notice = co_await removals_->run(
      [home = options_.home]() -> Result<std::string> { return lost_and_found_notice(home); });
  files_notice_ = CO_TRY(std::move(notice));
  co_return {};
}

std::vector<std::string> Agent::notices() const {
  std::vector<std::string> all;
  for (const std::string* notice : {&files_notice_, &runner_notice_}) {
    if (!notice->empty()) all.push_back(*notice);
  }
  for (const auto& [job, notice] : unremoved_) {
    if (all.size() < kNoticesMax) all.push_back(notice);
  }
  return all;
}

// What an agent that was killed, or was not there, should have removed: an order to remove is sent
// once.
Async<void> Agent::sweep() {
  CHECK(removals_, "an agent sweeps before start() or after stop()");
  Result<std::vector<JobId>> listed =
      co_await removals_->run([home = options_.home] { return jobs_with_files(home); });
  std::vector<JobId> here = CO_TRY(std::move(listed));
  Result<Leftovers> asked = co_await events_.leftovers(std::move(here));
  Leftovers leftovers = CO_TRY(std::move(asked));
  for (const JobId& job : leftovers.deleted) {
    CO_TRY(gate_.token().check());
    if (!in_use(job)) (void)co_await remove_job(job);
  }
  co_return co_await set_aside_unknown(std::move(leftovers.unknown));
}

Async<model::LogPage> Agent::read_log(model::LogFilter filter, std::string cursor) {
  const std::string folder = job_folder(options_.home, filter.job);
  return log_reads_.run<model::LogPage>(
      folder, [home = options_.home, filter = std::move(filter), cursor = std::move(cursor),
               now = clock_.wall()] { return LogReader(home).read(filter, cursor, now); });
}

Async<model::MetricPage> Agent::read_metrics(model::MetricFilter filter) {
  const std::string folder = job_folder(options_.home, filter.job);
  return series_reads_.run<model::MetricPage>(folder,
                                              [home = options_.home, filter = std::move(filter)] {
                                                return agent::read_metrics(home, filter);
                                              });
}

Async<std::vector<model::TaskUsage>> Agent::read_usage(JobId job, Duration window) {
  // A process that waits for a dead mount may keep others from reading of it.
  const std::string folder = "/proc";
  const auto sample = [job]() -> Result<UsageSample> { return sample_usage(job); };
  Result<UsageSample> first = co_await log_reads_.run<UsageSample>(folder, sample, Reach::kFolder);
  const UsageSample before = CO_TRY(std::move(first));
  const Duration begun = clock_.boot();
  Result<std::optional<GpuSample>> asked =
      co_await gpus_->run([this] { return gpu_sampler_.sample(clock_.boot()); });
  const std::optional<GpuSample> gpus = CO_TRY(std::move(asked));
  const Duration left = std::max(window - (clock_.boot() - begun), Duration());
  Result<void> slept = co_await loop_.sleep(left, gate_.token());
  CO_TRY(std::move(slept));
  Result<UsageSample> second = co_await log_reads_.run<UsageSample>(folder, sample, Reach::kFolder);
  const UsageSample after = CO_TRY(std::move(second));
  co_return usage_between(before, after, std::max(window, clock_.boot() - begun), gpus);
}

Async<void> Agent::log_changed(JobId job, async::StopToken stop) {
  Result<void> changed = co_await watch_.changed(std::move(job), std::move(stop));
  co_return changed;
}

}  // namespace runnel::agent
