#include "node/core.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/append.h"
#include "base/check.h"
#include "node/parts.h"

namespace runnel::node {
namespace {

constexpr std::int32_t kCannotRun = 126;  // As a shell's.

Error never_started() { return Error(Errc::kCancelled, "stopped before it started"); }

// An order that is wrong ends as a command that cannot run; what is missing just now is tried
// again.
std::vector<model::RankReport> not_started(const model::AttemptRef& attempt,
                                           std::int32_t first_rank, std::int32_t rank_count,
                                           const Error& error, Time now) {
  const bool wrong = error.code == Errc::kInvalid;
  model::RankReport report;
  report.attempt = attempt;
  report.ended = true;
  report.ended_at = now;
  report.cause = wrong ? model::EndCause::kExited : model::EndCause::kNotStarted;
  report.code = wrong ? kCannotRun : 0;
  report.message = error.to_string();
  std::vector<model::RankReport> reports(static_cast<std::size_t>(rank_count), report);
  for (std::int32_t i = 0; i < rank_count; ++i) {
    reports[static_cast<std::size_t>(i)].rank = first_rank + i;
  }
  return reports;
}

}  // namespace

NodeCore::NodeCore(NodeId node, const Stamp& last, NodeLimits limits, HasBeside has_beside)
    : node_(std::move(node)), limits_(limits), stamp_(last), has_beside_(std::move(has_beside)) {}

// --- The runner.

void NodeCore::lose_runner() {
  joined_ = false;
  news_ = {};
}

void NodeCore::meet(Incarnation life) {
  lose_runner();
  stamp_.incarnation = std::move(life);
  attempts_.clear();
  held_back_.clear();
  waiting_.clear();
  handed_over_ = in_flight_ = 0;
}

void NodeCore::has(const model::RankReport& rank, bool begun) {
  CHECK(!joined_, "an inventory after the join");
  const auto [entry, is_new] = attempts_.try_emplace(rank.attempt);
  LocalAttempt& attempt = entry->second;
  if (is_new) {
    attempt.stage = Stage::kHandedOver;
    ++handed_over_;
  }
  attempt.begun = attempt.begun || begun;
  if (rank.ended) {
    attempt.ended.push_back(rank.rank);
  } else if (attempt.ranks_left++ == 0) {
    ++in_flight_;
  }
}

// --- Orders down.

// A question may come again: what answered it may have been lost.
bool NodeCore::is_old(const model::NodeOrders& orders) const {
  if (orders.epoch != stamp_.epoch) return orders.epoch < stamp_.epoch;
  return orders.sequence < stamp_.taken || (orders.sequence == stamp_.taken && !empty(orders));
}

std::optional<Error> NodeCore::refusal_of(const model::NodeOrders& orders) const {
  if (!joined_) return Error(Errc::kUnavailable, "the runner is not there; it will join again");
  if (orders.incarnation == stamp_.incarnation) return std::nullopt;
  return Error(Errc::kPrecondition, "orders for an earlier life of the runner are dropped");
}

// Orders that are dropped count as taken, too: they are on their way no more.
NodeCore::Work NodeCore::take(model::NodeOrders orders, Time now) {
  Work work;
  if (is_old(orders)) {
    work.dropped =
        Error(Errc::kPrecondition, "orders " + std::to_string(orders.sequence) + " of epoch " +
                                       std::to_string(orders.epoch.value()) +
                                       " are refused: newer ones were taken");
    return work;
  }
  const bool lacks_orders = orders.epoch == stamp_.epoch && orders.sequence > stamp_.taken + 1;
  stamp_.epoch = orders.epoch;
  stamp_.taken = orders.sequence;
  const bool is_question = empty(orders);
  work.remove = std::move(orders.remove);
  work.inventory = joined_ && (is_question || lacks_orders);
  work.dropped = work.inventory ? std::nullopt : refusal_of(orders);
  if (work.inventory) lose_runner();
  if (work.inventory || work.dropped) return work;
  for (const model::AttemptRef& attempt : orders.forget) take_forget(attempt, work);
  for (model::StartOrder& order : orders.start) take_start(std::move(order), now, work);
  for (model::WatchOrder& order : orders.watch) {
    const LocalAttempt* attempt = find(order.attempt);
    if (attempt != nullptr && attempt->ranks_left > 0) work.watch.push_back(std::move(order));
  }
  for (const model::StopOrder& order : orders.stop) take_stop(order, now, work);
  return work;
}

void NodeCore::take_start(model::StartOrder order, Time now, Work& work) {
  if (attempts_.contains(order.attempt)) return;
  CHECK(order.rank_count >= 1, "an order without ranks");
  const bool is_full = waiting() >= limits_.waiting_max;
  LocalAttempt& attempt = attempts_[order.attempt];
  attempt.first_rank = order.first_rank;
  attempt.rank_count = attempt.ranks_left = order.rank_count;
  if (is_full) {
    const Error full(Errc::kFull,
                     "more than " + std::to_string(limits_.waiting_max) + " attempts wait here");
    return append_all(work.not_started, fail(order.attempt, attempt, full, now));
  }
  attempt.preparation = ++preparations_;
  Preparation preparation{preparations_, std::move(order)};
  if (is_held_back(preparation.order.attempt)) {
    held_back_.push_back(std::move(preparation));
    return;
  }
  begin_preparation(std::move(preparation), work.prepare);
}

void NodeCore::begin_preparation(Preparation preparation, std::vector<Preparation>& begun) {
  attempts_.at(preparation.order.attempt).stage = Stage::kPreparing;
  under_way_[preparation.order.attempt].insert(preparation.number);
  begun.push_back(std::move(preparation));
}

void NodeCore::end_preparation(const model::AttemptRef& ref, std::int64_t preparation) {
  const auto found = under_way_.find(ref);
  const bool is_under_way = found != under_way_.end() && found->second.erase(preparation) == 1;
  CHECK(is_under_way, "a preparation ends twice");
  if (found->second.empty()) under_way_.erase(found);
}

bool NodeCore::is_held_back(const model::AttemptRef& attempt) const {
  return has_other(attempt) || (has_beside_ && has_beside_(attempt));
}

bool NodeCore::has_other(const model::AttemptRef& ref) const {
  const model::AttemptRef first{ref.task, AttemptNumber()};
  for (auto each = under_way_.lower_bound(first);
       each != under_way_.end() && each->first.task == ref.task; ++each) {
    if (each->first.attempt != ref.attempt) return true;
  }
  for (auto each = attempts_.lower_bound(first);
       each != attempts_.end() && each->first.task == ref.task; ++each) {
    const LocalAttempt& other = each->second;
    const bool has_folder = other.stage != Stage::kHeldBack && other.ranks_left > 0;
    if (each->first.attempt != ref.attempt && has_folder) return true;
  }
  return false;
}

bool NodeCore::is_wanted(const Preparation& preparation) const {
  const auto found = attempts_.find(preparation.order.attempt);
  return found != attempts_.end() && found->second.preparation == preparation.number &&
         found->second.stage == Stage::kHeldBack;
}

std::vector<model::AttemptRef> NodeCore::held_back() const {
  std::vector<model::AttemptRef> all;
  for (const Preparation& each : held_back_) {
    if (is_wanted(each)) all.push_back(each.order.attempt);
  }
  return all;
}

std::vector<NodeCore::Preparation> NodeCore::released() {
  std::vector<Preparation> free;
  std::vector<Preparation> still;
  for (Preparation& each : std::exchange(held_back_, {})) {
    if (!is_wanted(each)) continue;
    if (is_held_back(each.order.attempt)) {
      still.push_back(std::move(each));
      continue;
    }
    begin_preparation(std::move(each), free);
  }
  held_back_ = std::move(still);
  return free;
}

void NodeCore::take_stop(const model::StopOrder& order, Time now, Work& work) {
  const auto found = attempts_.find(order.attempt);
  if (found == attempts_.end()) return;
  if (found->second.stage == Stage::kHandedOver) {
    work.stop.push_back(order);
    return;
  }
  if (found->second.stage == Stage::kFailed) return;
  append_all(work.not_started, fail(order.attempt, found->second, never_started(), now));
}

std::vector<model::RankReport> NodeCore::fail(const model::AttemptRef& ref, LocalAttempt& attempt,
                                              const Error& error, Time now) {
  CHECK(attempt.stage != Stage::kHandedOver, "an attempt fails that the runner has");
  attempt.stage = Stage::kFailed;
  attempt.ranks_left = 0;
  return not_started(ref, attempt.first_rank, attempt.rank_count, error, now);
}

// An attempt that control takes for over, and that is not, ends here: nobody wants to hear of it.
void NodeCore::take_forget(const model::AttemptRef& ref, Work& work) {
  health_.erase(ref);
  const auto found = attempts_.find(ref);
  if (found == attempts_.end()) return;
  LocalAttempt& attempt = found->second;
  if (attempt.stage == Stage::kHandedOver && attempt.ranks_left > 0) {
    attempt.wanted = false;
    work.stop.push_back({ref, Duration(), model::StopReason::kCancelled});
    return;
  }
  if (attempt.stage == Stage::kHandedOver) {
    --handed_over_;
    work.drop_records.push_back(ref);
  } else if (attempt.stage != Stage::kFailed) {
    work.let_go.push_back(ref);
  }
  attempts_.erase(found);
}

NodeCore::Work NodeCore::end_all(Time now) {
  Work work;
  std::vector<model::AttemptRef> doomed;
  for (const auto& [ref, attempt] : attempts_) {
    if (attempt.ranks_left > 0) doomed.push_back(ref);
  }
  for (const model::AttemptRef& ref : doomed) {
    take_stop({ref, Duration(), model::StopReason::kCancelled}, now, work);
  }
  return work;
}

bool NodeCore::prepared(const model::AttemptRef& ref, std::int64_t preparation) {
  end_preparation(ref, preparation);
  const auto found = attempts_.find(ref);
  if (found == attempts_.end() || found->second.preparation != preparation) return false;
  if (found->second.stage == Stage::kFailed) return false;  // Stopped meanwhile.
  CHECK(found->second.stage == Stage::kPreparing, "an attempt is made ready twice");
  found->second.stage = Stage::kWaiting;
  waiting_.push_back(ref);
  return true;
}

std::vector<model::RankReport> NodeCore::failed(const model::AttemptRef& ref,
                                                std::int64_t preparation, const Error& error,
                                                Time now) {
  end_preparation(ref, preparation);
  const auto found = attempts_.find(ref);
  if (found == attempts_.end() || found->second.preparation != preparation) return {};
  if (found->second.stage == Stage::kFailed) return {};  // Stopped meanwhile.
  CHECK(found->second.stage == Stage::kPreparing, "an attempt fails that was made ready");
  std::vector<model::RankReport> reports = fail(ref, found->second, error, now);
  // The join says that it is not here, and control orders it again: told after that, the failure of
  // the first order would be taken for the second's.
  if (!joined_) reports.clear();
  return reports;
}

std::vector<model::AttemptRef> NodeCore::next() {
  std::vector<model::AttemptRef> turn;
  while (!waiting_.empty() && in_flight_ < limits_.handed_over_max) {
    const auto found = attempts_.find(waiting_.front());
    if (found != attempts_.end() && found->second.stage == Stage::kWaiting) {
      found->second.stage = Stage::kHandedOver;
      ++handed_over_;
      ++in_flight_;
      turn.push_back(waiting_.front());
    }
    waiting_.pop_front();
  }
  return turn;
}

// --- What the runner tells.

NodeCore::Reported NodeCore::on_report(const model::RankReport& rank) {
  const auto found = attempts_.find(rank.attempt);
  if (found == attempts_.end()) return {};
  LocalAttempt& attempt = found->second;
  if (attempt.stage != Stage::kHandedOver) return {};  // The runner is wrong: it does not have it.
  Reported reported{attempt.wanted, !std::exchange(attempt.begun, true), false};
  const auto& ended = attempt.ended;
  const bool again = std::find(ended.begin(), ended.end(), rank.rank) != ended.end();
  if (!rank.ended || again || attempt.ranks_left == 0) return reported;
  attempt.ended.push_back(rank.rank);
  if (--attempt.ranks_left > 0) return reported;
  --in_flight_;
  if (attempt.wanted) return reported;
  reported.drop_record = true;
  --handed_over_;
  health_.erase(rank.attempt);
  attempts_.erase(found);
  return reported;
}

// --- Messages up.

Up NodeCore::stamped(decltype(Up::what) what) {
  stamp_.up = UpSequence(stamp_.up.value() + 1);
  return {node_, stamp_, std::move(what)};
}

std::vector<Up> NodeCore::join(Inventory inventory) {
  joined_ = true;
  std::erase_if(health_, [this](const auto& kept) { return !attempts_.contains(kept.first); });
  for (const auto& [attempt, reports] : health_) {
    inventory.has.health.insert(inventory.has.health.end(), reports.begin(), reports.end());
  }
  std::vector<Up> messages;
  for (InventoryPart& part : take_parts(inventory, limits_.reports_per_message_max)) {
    messages.push_back(stamped(std::move(part)));
  }
  messages.push_back(stamped(std::move(inventory)));
  return messages;
}

void NodeCore::tell(News news) {
  keep_health(news.health);
  if (joined_) append(news_, std::move(news));
}

// While the runner is met anew nobody knows which attempts are here: join() looks.
void NodeCore::keep_health(const std::vector<model::HealthReport>& reports) {
  for (const model::HealthReport& each : reports) {
    if (joined_ && !attempts_.contains(each.attempt)) continue;
    std::vector<model::HealthReport>& kept = health_[each.attempt];
    std::erase_if(kept, [&each](const model::HealthReport& before) {
      return before.rank == each.rank && before.problem == each.problem;
    });
    kept.push_back(each);
  }
}

std::vector<Up> NodeCore::reports() {
  std::vector<Up> messages;
  for (News& news : in_pieces(std::exchange(news_, {}), limits_.reports_per_message_max)) {
    messages.push_back(stamped(Report{std::move(news)}));
  }
  return messages;
}

Up NodeCore::beat() { return stamped(Beat()); }

std::vector<Up> NodeCore::leave() {
  std::vector<Up> messages = reports();
  joined_ = false;
  if (messages.empty()) messages.push_back(stamped(GoodBye()));
  auto* last = std::get_if<Report>(&messages.back().what);
  if (last != nullptr) messages.back().what = GoodBye{std::move(last->news)};
  return messages;
}

// --- What is here.

const LocalAttempt* NodeCore::find(const model::AttemptRef& ref) const {
  const auto found = attempts_.find(ref);
  const bool here = found != attempts_.end() && found->second.stage != Stage::kFailed;
  return here ? &found->second : nullptr;
}

bool NodeCore::runs(const JobId& job) const {
  const model::AttemptRef first{{job, StepIndex(), TaskIndex()}, AttemptNumber()};
  for (auto each = attempts_.lower_bound(first); each != attempts_.end(); ++each) {
    if (each->first.task.job != job) return false;
    if (each->second.ranks_left > 0) return true;
  }
  return false;
}

}  // namespace runnel::node
