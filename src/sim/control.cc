#include "sim/control.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "brain/orders_check.h"
#include "brain/reconciler.h"
#include "sim/overdue.h"

namespace runnel::sim {
namespace {

constexpr Duration kLease = Duration::millis(3'000);
constexpr Duration kLookForOverdue = Duration::millis(500);
constexpr Duration kRetryAppend = Duration::millis(200);
constexpr Duration kWatchPatience = Duration::seconds(5);
constexpr Duration kUserComesBack = Duration::millis(500);
// How late may be looked at what was due, when nothing stands in the way.
constexpr Duration kOverdueSlack = Duration::millis(1'000);
constexpr std::int64_t kSnapshotEveryMin = 50;
constexpr std::int64_t kSnapshotEveryMax = 2'000;
constexpr std::int64_t kCallMillisMax = 6;
constexpr std::int64_t kBacklogMillisMax = 20;
constexpr Duration kUnread = Duration::millis(100);
constexpr std::int64_t kSlowCallMillisMax = 2'000;
constexpr Duration kOneSlowCall = Duration::millis(kSlowCallMillisMax);
constexpr std::string_view kLogThread = "runnel-log";
constexpr std::string_view kReadThread = "runnel-read";
constexpr std::uint64_t kFoldStream = 0xF01D;

// The home's time on the disk of a machine that is never started anew.
class KeptTime final : public control::HomeTime {
 public:
  void keep(Time now, const env::Clock& clock) override { kept_ = {now, clock.boot()}; }
  std::optional<Time> kept(const env::Clock& clock) const override {
    if (!kept_) return std::nullopt;
    return kept_->first + (clock.boot() - kept_->second);
  }

 private:
  std::optional<std::pair<Time, Duration>> kept_;
};

control::Outcome outcome_of(Result<control::Answer> answer) {
  if (answer.ok()) return std::move(answer)->outcome;
  control::Outcome refused;
  refused.refusal = std::move(answer).error();
  return refused;
}

}  // namespace

// The way down to every node.
class SimControl::Link final : public control::NodeLink {
 public:
  explicit Link(SimControl& control) : control_(control) {}
  void send(model::NodeOrders orders) override {
    if (control_.daemon_->is_dead()) return;
    // Named first: the order in which arguments are made differs between compilers.
    const std::size_t node = control_.node_index_.at(orders.node);
    control_.note(control_.messages_.sends(orders));
    control_.note(brain::check_orders(control_.state(), orders));
    control_.send_(node, std::move(orders));
  }

 private:
  SimControl& control_;
};

SimControl::SimControl(const Scenario& scenario, Wiring wiring)
    : agenda_(*wiring.agenda),
      seen_(*wiring.seen),
      invariants_(*wiring.invariants),
      violation_(*wiring.violation),
      send_(std::move(wiring.send)),
      node_index_(*wiring.node_index),
      declared_(*wiring.declared),
      dice_(scenario.seed ^ 0xC0117201ULL),
      limits_(scenario.limits),
      clock_(agenda_),
      disk_([this] { troubled_at_ = agenda_.now(); }),
      fold_(disk_, scenario.seed ^ kFoldStream),
      link_(std::make_unique<Link>(*this)) {
  if (dice_.chance(500)) time_ = std::make_shared<KeptTime>();
}

SimControl::~SimControl() {
  if (daemon_ != nullptr) crash({}, false);
}

// --- Lives.

control::ControllerOptions SimControl::controller_options() {
  control::ControllerOptions options;
  options.salt = dice_.next();
  options.node_lease = kLease;
  options.log.snapshot_every_events = dice_.between(kSnapshotEveryMin, kSnapshotEveryMax);
  options.log.retry_after = kRetryAppend;
  options.log.time = time_;
  options.log.limits = limits_;
  options.log.fold = [this](store::EventLog& log, brain::Limits limits) {
    auto recovered = fold_(log, limits);
    invariants_.restart(disk_.events());
    troubled_at_ = agenda_.now();
    is_folded_ = true;
    return recovered;
  };
  options.log.tap = [this](const model::Input& input, const control::DurableBatch& batch,
                           const brain::State& state) { check_decision(input, batch, state); };
  return options;
}

Duration SimControl::latency(std::string_view thread) {
  const bool waits_for_disk = thread == kLogThread || thread == kReadThread;
  const bool slow = waits_for_disk && agenda_.now() < slow_until_;
  return Duration::millis(dice_.between(0, slow ? kSlowCallMillisMax : kCallMillisMax));
}

void SimControl::slow_disk(Duration lasts) {
  slow_until_ = std::max(slow_until_, agenda_.now() + lasts);
}

void SimControl::start() {
  CHECK(daemon_ == nullptr, "a daemon is started twice");
  ++life_;
  messages_.restart();
  cable_ = std::make_shared<Disk::Cable>();
  Daemon::Options options;
  options.seed = dice_.next();
  options.latency = [this](std::string_view thread) { return latency(thread); };
  options.opener = disk_.opener(cable_);
  options.controller = controller_options();
  options.opened = [this] { opened(); };
  options.died = [this](const Error&) {  // Not in its own turn.
    agenda_.after({}, [this, life = life_] {
      if (life == life_ && daemon_ != nullptr) crash(kUserComesBack, false);
    });
  };
  daemon_ = std::make_unique<Daemon>(agenda_, clock_, secrets_, std::move(options));
}

void SimControl::opened() {
  troubled_at_ = agenda_.now();
  heard_at_.clear();
  arrived_at_.clear();
  newest_.clear();
  control::Nodes& nodes = daemon_->controller().nodes();
  std::vector<model::NodeInfo> declared;
  for (const auto& [id, info] : declared_) {
    nodes.attach(id, *link_);
    declared.push_back(info);
  }
  daemon_->ask<void>(watch(), [](const Result<void>&) {});
  daemon_->ask<void>(nodes.declare(std::move(declared)), [](const Result<void>&) {});
  daemon_->ask<void>(look_for_overdue(), [](const Result<void>&) {});
}

void SimControl::crash(Duration down, bool torn) {
  if (daemon_ == nullptr) return;
  cable_->is_cut = !torn;
  if (torn && dice_.chance(500)) disk_.fail_next(store::AppendFault::kTorn);
  daemon_->kill([this] { cable_->is_cut = true; });
  disk_.fail_next(store::AppendFault::kNone);
  daemon_.reset();
  backlog_.clear();
  frozen_until_ = Time();
  restart_after(down);
}

void SimControl::restart_after(Duration down) {
  agenda_.after(down, [this, life = life_] {
    if (life == life_ && daemon_ == nullptr) start();
  });
}

void SimControl::freeze(Duration lasts) {
  if (daemon_ == nullptr) return;
  frozen_until_ = std::max(frozen_until_, agenda_.now() + lasts);
  daemon_->freeze();
  agenda_.after(lasts, [this, life = life_] {
    if (life != life_ || daemon_ == nullptr || agenda_.now() < frozen_until_) return;
    troubled_at_ = agenda_.now();
    if (dice_.chance(500)) hear_backlog();
    daemon_->thaw();
    agenda_.after(Duration::millis(dice_.between(0, kBacklogMillisMax)), [this, life] {
      if (life == life_ && awake()) hear_backlog();
    });
  });
}

bool SimControl::settled() const {
  return state().last_event.value() == std::ssize(disk_.events()) &&
         daemon_->controller().writer().healthy();
}

void SimControl::check_decision(const model::Input& input, const control::DurableBatch& batch,
                                const brain::State& state) {
  if (daemon_->is_dead()) return;
  disk_.note(batch);
  note(invariants_.after(input, batch.events, state));
  if (const auto* join = std::get_if<model::NodeJoin>(&input))
    note(messages_.joins(*join, agenda_.now()));
  if (const auto* lost = std::get_if<model::NodeLost>(&input)) note(check_given_up(*lost));
}

void SimControl::note(std::string broken) {
  if (violation_.empty()) violation_ = std::move(broken);
}

// --- Clients.

void SimControl::ask(std::function<Async<control::Answer>(control::Controller&)> what,
                     Reply reply) {
  if (!up()) return;
  daemon_->post([this, what = std::move(what), reply = std::move(reply)] {
    daemon_->ask<control::Answer>(
        what(daemon_->controller()),
        [reply](Result<control::Answer> answer) { reply(outcome_of(std::move(answer))); });
  });
}

void SimControl::submit(const std::string& actor, const std::string& key,
                        std::shared_ptr<const model::JobSpec> spec, Reply reply) {
  control::Submission submission{std::move(spec), {}, actor, actor + "'s body of " + key};
  const model::Principal asks{ProjectId("default"), actor};
  ask([submission, asks,
       key](control::Controller& control) { return control.submit(submission, asks, key); },
      std::move(reply));
}

void SimControl::request(const model::JobRequest& request, Reply reply) {
  ask(
      [request](control::Controller& control) {
        control::JobCall call;
        call.verb = request.verb;
        call.job = request.job;
        call.actor = request.actor;
        return control.call(std::move(call));
      },
      std::move(reply));
}

void SimControl::call(const model::TrialCall& call, Reply reply) {
  ask([call](control::Controller& control) { return control.call_trial(call); }, std::move(reply));
}

// Follows all events from where it was, through every life of the daemon.
Async<void> SimControl::watch() {
  control::EventHub& hub = daemon_->controller().events();
  while (!daemon_->is_dead()) {
    Result<control::EventPage> read = co_await hub.read({seen_.through});
    if (daemon_->is_dead()) break;
    if (!read.ok() && read.error().code == Errc::kGone && violation_.empty()) {
      violation_ = "a watcher's place is not in the log: " + read.error().message;
    }
    if (read.ok()) {
      for (control::EventRecord& record : read->events) {
        seen_.watched.emplace(record.seq.value(), std::move(record.document));
      }
      seen_.through = read->through;
    }
    const Result<async::Wake> changed =
        co_await hub.changed(seen_.through, kWatchPatience, daemon_->token());
    if (!changed.ok()) break;
  }
  co_return {};
}

// --- Nodes.

void SimControl::receive(std::shared_ptr<const node::Up> message) {
  if (!up() || !declared_.contains(message->node)) return;  // Nobody speaks for it any more.
  node::UpSequence& newest = newest_[message->node];
  if (message->stamp.up > newest) arrived_at_[message->node] = agenda_.now();
  newest = std::max(newest, message->stamp.up);
  if (awake() && backlog_.empty()) return hear(std::move(message));
  backlog_.push_back(std::move(message));
}

// What came while it stood still lies in its sockets, and is read one after the other.
void SimControl::hear_backlog() {
  for (auto& message : std::exchange(backlog_, {})) hear(std::move(message));
}

void SimControl::hear(std::shared_ptr<const node::Up> message) {
  daemon_->post([this, message = std::move(message)] {
    if (is_folded_) check_told();
    messages_.hears(*message, agenda_.now());
    heard_at_[message->node] = agenda_.now();
    daemon_->controller().nodes().hear(*message);
    messages_.heard();
  });
}

void SimControl::lose_link(const NodeId& node) {
  if (up()) daemon_->controller().nodes().lose_link(node);
}

void SimControl::give_notice(const NodeId& node, Duration notice) {
  CHECK(notice >= Duration(), "a notice of the past");
  if (!awake()) return;  // Nobody hears it.
  daemon_->post([this, node, notice] {
    daemon_->ask<void>(daemon_->controller().nodes().give_notice(node, notice),
                       [](const Result<void>&) {});
  });
}

Async<void> SimControl::look_for_overdue() {
  while (true) {
    CO_TRY(co_await daemon_->loop().sleep(kLookForOverdue, daemon_->token()));
    check_overdue();
    check_told();
  }
}

// A node that is up, and of which nothing was heard for longer than its lease since control last
// was in trouble.
std::string SimControl::find_silent(Time troubled) const {
  for (const auto& [id, node] : state().nodes) {
    const auto heard = heard_at_.find(id);
    const Time since = heard == heard_at_.end() ? troubled : std::max(troubled, heard->second);
    if (node.up && agenda_.now() - since > kLease + kOverdueSlack) {
      return "node " + id.str() + " should have been given up";
    }
  }
  return "";
}

// Nothing new of the node has reached control within its lease, heard or not; what came just now
// may lie unread.
std::string SimControl::check_given_up(const model::NodeLost& lost) const {
  if (lost.reason != "HeartbeatLost") return "";
  const auto arrived = arrived_at_.find(lost.node);
  if (arrived == arrived_at_.end()) return "";
  const Duration silent = agenda_.now() - arrived->second;
  CHECK(silent >= Duration(), "a message of the future");
  if (silent > kLease || silent < kUnread) return "";
  return "node " + lost.node.str() + " was given up " + std::to_string(silent.millis()) +
         " ms after it was heard of";
}

// When all that was decided is durable, linked nodes have been told what they are to do.
void SimControl::check_told() {
  control::Controller& control = daemon_->controller();
  if (control.events().last() != state().last_event || !control.writer().healthy()) return;
  is_folded_ = false;
  const brain::Reconciler reconciler(control.writer().epoch(), state());
  for (const auto& [id, node] : state().nodes) {
    if (!node.up || !control.nodes().is_linked(id)) continue;
    note(messages_.lacks(reconciler.everything(state(), id)));
  }
}

void SimControl::check_overdue() {
  const Time troubled = std::max(troubled_at_, slow_until_ + kOneSlowCall);
  const std::string before = std::exchange(late_, "");
  if (agenda_.now() - troubled < kOverdueSlack || !settled() || !violation_.empty()) return;
  violation_ = find_silent(troubled);
  late_ = check_nothing_overdue(state(), daemon_->controller().writer().now(), kOverdueSlack);
  if (late_ != before) late_since_ = agenda_.now();
  // A retry without a pause has no time from which it is due, and ends that move may let it fit.
  if (violation_.empty() && agenda_.now() - late_since_ >= kOverdueSlack) violation_ = late_;
}

}  // namespace runnel::sim
