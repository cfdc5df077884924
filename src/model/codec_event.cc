#include <array>
#include <utility>

#include "model/codec.h"
#include "model/detail/variant_codec.h"
#include "model/spec_records.h"

namespace runnel::model {

namespace {

void visit_trial(auto& visit, auto& event) {
  visit("job", event.job, Required());
  visit("step", event.step);
  visit("trial", event.trial);
}

}  // namespace

template <>
struct Fields<JobSubmitted> {
  static void visit(auto& visit, auto& event) {
    visit("actor", event.actor);
    visit("body_hash", event.body_hash);
    visit("idempotency_key", event.idempotency_key);
    visit("job", event.job, Required());
    visit("owner", event.owner);
    visit("project", event.project, Required());
    visit("queue", event.queue, Required());
    visit("spec", event.spec, Required());
  }
};

template <>
struct Fields<JobChanged> {
  static void visit(auto& visit, auto& event) {
    visit("actor", event.actor);
    visit("job", event.job, Required());
    visit("message", event.message);
    visit("reason", event.reason);
    visit("to", event.to, Required());
  }
};

template <>
struct Fields<StepChanged> {
  static void visit(auto& visit, auto& event) {
    visit("job", event.job, Required());
    visit("message", event.message);
    visit("reason", event.reason);
    visit("step", event.step);
    visit("to", event.to, Required());
  }
};

template <>
struct Fields<TasksChanged> {
  static void visit(auto& visit, auto& event) {
    visit("actor", event.actor);
    visit("job", event.job, Required());
    visit("ranges", event.ranges);
    visit("reason", event.reason);
    visit("step", event.step);
    visit("to", event.to, Required());
  }
  static Result<void> check(const TasksChanged& event) {
    for (const auto& [begin, end] : event.ranges) {
      if (begin < end) continue;
      return Error(Errc::kInvalid, "a range of tasks must end after it begins")
          .with_field("ranges");
    }
    return {};
  }
};

template <>
struct Fields<LaneOpened> {
  static void visit(auto& visit, auto& event) {
    StoredHolding held = stored(event.holding);
    visit("apart", event.apart);
    visit("holder", held.holder);
    visit("job", event.job, Required());
    visit("lane", event.lane, Required());
    visit("lease", held.lease);
    visit("per_place", event.per_place);
    visit("places", held.places);
    visit("port", event.port, Number{.max = 65'535});
    visit("step", event.step);
    if constexpr (detail::kIsRead<decltype(event)>) event.holding = restored(std::move(held));
  }
};

template <>
struct Fields<LaneTask> {
  static void visit(auto& visit, auto& task) {
    visit("attempt", task.attempt, Number{.fallback = 1});
    visit("index", task.index);
    visit("params", task.params);
  }
};

template <>
struct Fields<LaneExtended> {
  static void visit(auto& visit, auto& event) {
    visit("job", event.job, Required());
    visit("lane", event.lane, Required());
    visit("step", event.step);
    visit("tasks", event.tasks);
  }
};

template <>
struct Fields<LaneClosed> {
  static void visit(auto& visit, auto& event) {
    visit("job", event.job, Required());
    visit("lane", event.lane, Required());
  }
};

template <>
struct Fields<LaneRenewed> {
  static void visit(auto& visit, auto& event) {
    visit("job", event.job, Required());
    visit("lane", event.lane, Required());
  }
};

template <>
struct Fields<AttemptRunning> {
  static void visit(auto& visit, auto& event) {
    visit("attempt", event.attempt, Required());
    visit("lane", event.lane, Required());
    visit("started_at", event.started_at);
  }
};

template <>
struct Fields<RankEnded> {
  static void visit(auto& visit, auto& event) {
    visit("attempt", event.attempt, Required());
    visit("cause", event.cause);
    visit("code", event.code, kExitNumber);
    visit("ended_at", event.ended_at);
    visit("rank", event.rank);
    visit("signal", event.signal, kExitNumber);
  }
};

template <>
struct Fields<AttemptStopping> {
  static void visit(auto& visit, auto& event) {
    visit("actor", event.actor);
    visit("attempt", event.attempt, Required());
    visit("because", event.because, Required());
    visit("lane", event.lane, Required());
  }
};

template <>
struct Fields<AttemptEnded> {
  static void visit(auto& visit, auto& event) {
    visit("attempt", event.attempt, Required());
    visit("charged", event.charged);
    visit("ended_at", event.ended_at);
    visit("exits", event.exits);
    visit("fault", event.fault);
    visit("first_failed", event.first_failed, Number{.min = -1, .fallback = -1});
    visit("lane", event.lane, Required());
    visit("message", event.message);
    visit("not_before", event.not_before);
    visit("published", event.published, AsObject());
    visit("reason", event.reason);
    visit("started_at", event.started_at);
    visit("task", event.task, Required());
    visit("to", event.to, Required());
  }
};

template <>
struct Fields<NodeJoined> {
  static void visit(auto& visit, auto& event) {
    visit("incarnation", event.incarnation, Required());
    visit("node", event.node, Required());
    visit("strangers", event.strangers);
  }
};

template <>
struct Fields<StrangersEnded> {
  static void visit(auto& visit, auto& event) {
    visit("node", event.node, Required());
    visit("ranks", event.ranks, Required());
  }
};

template <>
struct Fields<DevicesQuarantined> {
  static void visit(auto& visit, auto& event) {
    visit("devices", event.devices);
    visit("node", event.node, Required());
  }
};

template <>
struct Fields<NodeLeft> {
  static void visit(auto& visit, auto& event) {
    visit("incarnation", event.incarnation, Required());
    visit("node", event.node, Required());
    visit("reason", event.reason);
  }
};

template <>
struct Fields<NodeLeaving> {
  static void visit(auto& visit, auto& event) {
    visit("incarnation", event.incarnation, Required());
    visit("leaves_at", event.leaves_at);
    visit("node", event.node, Required());
    visit("reason", event.reason);
  }
};

template <>
struct Fields<JobArchived> {
  static void visit(auto& visit, auto& event) { visit("job", event.job, Required()); }
};

template <>
struct Fields<JobRestored> {
  static void visit(auto& visit, auto& event) {
    visit("job", event.job, Required());
    visit("record", event.record, Required());
  }
};

template <>
struct Fields<JobDeleted> {
  static void visit(auto& visit, auto& event) {
    visit("actor", event.actor);
    visit("job", event.job, Required());
  }
};

template <>
struct Fields<JobHalted> {
  static void visit(auto& visit, auto& event) {
    visit("actor", event.actor);
    visit("job", event.job, Required());
  }
};

template <>
struct Fields<TrialAsked> {
  static void visit(auto& visit, auto& event) {
    visit("job", event.job, Required());
    visit("params", event.params);
    visit("step", event.step);
    visit("trial", event.trial);
  }
};

template <>
struct Fields<TrialReported> {
  static void visit(auto& visit, auto& event) {
    visit("at", event.at, kAnyNumber);
    visit("attempt", event.attempt, Required());
    visit("results", event.values);
  }
};

template <>
struct Fields<TrialParked> {
  static void visit(auto& visit, auto& event) { visit_trial(visit, event); }
};

template <>
struct Fields<TrialPromoted> {
  static void visit(auto& visit, auto& event) { visit_trial(visit, event); }
};

template <>
struct Fields<TrialMoved> {
  static void visit(auto& visit, auto& event) {
    visit("at", event.at, kAnyNumber);
    visit("donor", event.donor);
    visit("job", event.job, Required());
    visit("params", event.params);
    visit("step", event.step);
    visit("trial", event.trial);
  }
};

template <>
struct Fields<TrialTold> {
  static void visit(auto& visit, auto& event) {
    visit("best", event.best, Number{.min = -1, .fallback = -1});
    visit("end", event.end);
    visit("job", event.job, Required());
    visit("step", event.step);
    visit("trial", event.trial);
  }
};

template <>
struct Fields<TaskWarned> {
  static void visit(auto& visit, auto& event) {
    visit("action", event.action, Required());
    visit("attempt", event.attempt, Required());
    visit("message", event.message);
    visit("rank", event.rank, Required());
    visit("reason", event.reason, Required());
    visit("since", event.since);
  }
};

template <>
struct Fields<RanAtCrash> {
  static void visit(auto& visit, auto& ran) {
    visit("alone", ran.alone);
    visit("attempt", ran.attempt, Required());
    visit("outlive", ran.outlive);
    visit("turn", ran.turn, Number{.min = -1, .fallback = -1});
  }
};

template <>
struct Fields<RunnerCrashed> {
  static void visit(auto& visit, auto& event) {
    visit("crash", event.crash);
    visit("incarnation", event.incarnation, Required());
    visit("node", event.node, Required());
    visit("ran", event.ran);
  }
};

template <>
struct Fields<TaskCleared> {
  static void visit(auto& visit, auto& event) {
    visit("job", event.job, Required());
    visit("reason", event.reason);
    visit("step", event.step);
    visit("task", event.task);
  }
};

template <>
struct Fields<SearchStopped> {
  static void visit(auto& visit, auto& event) {
    visit("job", event.job, Required());
    visit("message", event.message);
    visit("reason", event.reason);
    visit("step", event.step);
  }
};

template <>
struct Fields<KeyExpired> {
  static void visit(auto& visit, auto& event) {
    visit("actor", event.actor);
    visit("key", event.key, Required());
    visit("project", event.project);
  }
};

void encode(json::Writer& out, const Event& value) { detail::write_variant(out, value); }

Result<Event> decode_event(const json::Value& value) { return detail::read_variant<Event>(value); }

std::string encode_text(const Event& value) { return detail::text_of(value); }

}  // namespace runnel::model
