#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/order.h"
#include "model/report.h"
#include "node/message.h"

namespace runnel::node {

// How far the ranks of an attempt are, of those that run on one node.
enum class Stage : std::uint8_t {
  kHeldBack,  // Another attempt of its task has the task's folder.
  kPreparing,
  kWaiting,
  kHandedOver,
  kFailed,  // Before it was handed over, as control was told.
};

// An attempt that a node makes ready, keeps waiting or has handed to its runner, until control lets
// go of it.
struct LocalAttempt {
  Stage stage = Stage::kHeldBack;
  std::int32_t first_rank = 0;
  std::int32_t rank_count = 0;
  std::int32_t ranks_left = 0;
  bool begun = false;               // Its ranks here begin together.
  bool wanted = true;               // Else control let go of it while it ran: nobody hears of it.
  std::vector<std::int32_t> ended;  // Its ranks that have ended, while others go on.
  std::int64_t preparation = 0;     // The one that counts.
};

struct NodeLimits {
  std::size_t handed_over_max = 2'048;  // Attempts that have not ended.
  std::size_t waiting_max = 65'536;     // And others behind them.
  // Reports in one message to control; metrics and end of one attempt may be more.
  std::size_t reports_per_message_max = 1'024;
};

// The node's side of a node: which orders count, how far each attempt is and what of it is told.
// Its driver has the processes, the files and the connection, and does what it is told to.
// docs/design/node.md.
//
// Contract: orders may come late, twice or for a life of the runner that is over. What is not newer
//           than the last that was taken changes nothing, so that no attempt begins twice. An
//           attempt is made ready, waits for its turn in order of arrival, and is handed over once;
//           who is not wanted any more before that is never heard of by the runner. From when it is
//           made ready until it has ended, wanted or not, no other attempt of its task is made
//           ready on this machine, an earlier one that comes late no more than the next: both would
//           write the task's folder. One that is let go while it is made ready has the
//           folder until its driver says that this is over, in whichever way.
//           One that failed before that is kept until control lets go of it: what told of it may
//           be void, and control may order it again meanwhile.
// Threads:  none of its own; no clock, no I/O.
class NodeCore {
 public:
  // `last`: the number of the last message that was sent, and the newest orders that were taken,
  // in an earlier life of this process.
  // `has_beside`: has_other() of any node of this machine.
  using HasBeside = std::function<bool(const model::AttemptRef&)>;
  NodeCore(NodeId node, const Stamp& last, NodeLimits limits, HasBeside has_beside = {});

  // --- The runner.

  // It is there, for the first time or again: what was known is void until the runner has told of
  // all that it has, and nothing is told to control until join().
  void meet(Incarnation life);
  // The runner has the rank: `begun` unless it is queued there.
  void has(const model::RankReport& rank, bool begun);
  void lose_runner();
  bool joined() const { return joined_; }

  // --- Orders down.

  // An attempt to be made ready: prepared() or failed() follows.
  struct Preparation {
    std::int64_t number = 0;
    model::StartOrder order;
  };
  // The work that orders call for, in this order.
  struct Work {
    std::vector<JobId> remove;
    std::optional<Error> dropped;  // Why nothing of the rest is done.
    // Control asks what there is, or earlier orders did not come: the driver meets its runner anew,
    // and nothing is told until then.
    bool inventory = false;
    std::vector<model::AttemptRef> drop_records;  // Of exits, that the runner has.
    std::vector<model::AttemptRef> let_go;  // Not wanted any more, and the runner never had them.
    std::vector<Preparation> prepare;
    std::vector<model::WatchOrder> watch;
    std::vector<model::StopOrder> stop;  // By the runner.
    // Reports of ranks that will not start: to be told, but not while these orders are taken.
    std::vector<model::RankReport> not_started;
  };
  Work take(model::NodeOrders orders, Time now);
  // Whatever has not ended is to end at once.
  Work end_all(Time now);

  // Attempts of orders that were held back and need not be any more: to be made ready now.
  std::vector<Preparation> released();
  // A preparation ends by one of the next two, once, whatever became of its attempt meanwhile; then
  // others may be released.
  // Whether it still counts: then it waits for its turn.
  bool prepared(const model::AttemptRef& attempt, std::int64_t preparation);
  // The reports to be told of its ranks; nothing when it does not count, or the runner is met anew.
  std::vector<model::RankReport> failed(const model::AttemptRef& attempt, std::int64_t preparation,
                                        const Error& error, Time now);
  // Those whose turn it is, to be handed over.
  std::vector<model::AttemptRef> next();

  // --- What the runner tells of ranks that have begun.

  struct Reported {
    bool tell = false;         // Control wants to know.
    bool begins = false;       // The attempt's first news.
    bool drop_record = false;  // Of its exit, that the runner has.
  };
  Reported on_report(const model::RankReport& rank);

  // --- Messages up: the driver sends each, in this order.

  // In parts. What was told of the health of attempts that are here is told again with them.
  std::vector<Up> join(Inventory inventory);
  // Kept for the next reports(), which tell together what has come since the last. What comes while
  // the node has not joined is dropped, and what was kept when it loses its runner or is asked for
  // an inventory: that tells of it. A driver that cannot send loses its runner, too: or this grows.
  void tell(News news);
  bool has_news() const { return news_ != News(); }
  std::vector<Up> reports();
  Up beat();
  // With all that was not told.
  std::vector<Up> leave();

  // --- What is here.

  // Null also for one that failed before the runner had it.
  const LocalAttempt* find(const model::AttemptRef& attempt) const;
  // Whether control has not let go of the attempt, failed or not.
  bool holds(const model::AttemptRef& attempt) const { return attempts_.contains(attempt); }
  // Whether an attempt of the job is here that has not ended.
  bool runs(const JobId& job) const;
  bool idle() const { return attempts_.empty(); }
  // Whether another attempt of its task is made ready here, wanted or not, waits for its turn or
  // has ranks that have not ended.
  bool has_other(const model::AttemptRef& attempt) const;
  std::vector<model::AttemptRef> held_back() const;

 private:
  void keep_health(const std::vector<model::HealthReport>& reports);
  bool is_old(const model::NodeOrders& orders) const;
  bool is_held_back(const model::AttemptRef& attempt) const;
  std::optional<Error> refusal_of(const model::NodeOrders& orders) const;
  bool is_wanted(const Preparation& preparation) const;
  void begin_preparation(Preparation preparation, std::vector<Preparation>& begun);
  void end_preparation(const model::AttemptRef& attempt, std::int64_t preparation);
  void take_start(model::StartOrder order, Time now, Work& work);
  void take_stop(const model::StopOrder& order, Time now, Work& work);
  void take_forget(const model::AttemptRef& attempt, Work& work);
  // Attempts that failed count until control lets go of them.
  std::size_t waiting() const { return attempts_.size() - handed_over_; }
  std::vector<model::RankReport> fail(const model::AttemptRef& ref, LocalAttempt& attempt,
                                      const Error& error, Time now);
  Up stamped(decltype(Up::what) what);

  NodeId node_;
  NodeLimits limits_;
  Stamp stamp_;  // The number of the last message, and the newest orders.
  bool joined_ = false;
  News news_;  // Not told yet.
  // What was told of the health of attempts, until control lets go of them: of each problem of a
  // rank the last. An end may be told again by an inventory, and means what it does with this.
  std::map<model::AttemptRef, std::vector<model::HealthReport>> health_;
  std::int64_t preparations_ = 0;
  std::map<model::AttemptRef, LocalAttempt> attempts_;
  HasBeside has_beside_;
  std::vector<Preparation> held_back_;  // As waiting_, some are not wanted any more.
  // Preparations under way, in whichever life of the runner they began, wanted or not.
  std::map<model::AttemptRef, std::set<std::int64_t>> under_way_;
  std::deque<model::AttemptRef> waiting_;
  std::size_t handed_over_ = 0;  // Those that the runner has, ended ones too.
  std::size_t in_flight_ = 0;    // Those of them that have not ended.
};

}  // namespace runnel::node
