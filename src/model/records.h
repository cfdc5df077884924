#pragma once

#include <limits>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "model/detail/words.h"
#include "model/devices.h"
#include "model/event.h"
#include "model/fields.h"
#include "model/health.h"
#include "model/node.h"
#include "model/quarantine.h"
#include "model/refs.h"
#include "model/report.h"
#include "model/resources.h"
#include "model/spec.h"
#include "model/status.h"

// The stored form of what several documents hold: events, inputs, and the brain's snapshot.
namespace runnel::model {

template <>
struct Form<Status> : WordForm<Status, parse_status> {};
template <>
struct Form<Fault> : WordForm<Fault, parse_fault> {};
template <>
struct Form<HealthProblem> : WordForm<HealthProblem, parse_health_problem> {};
template <>
struct Form<HealthAction> : WordForm<HealthAction, parse_health_action> {};
template <>
struct Form<EndCause> : WordForm<EndCause, parse_end_cause> {};

constexpr detail::Words<3> kTrialEndWords = {"complete", "pruned", "failed"};

inline std::string_view to_string(TrialEnd end) { return detail::word_of(end, kTrialEndWords); }

inline Result<TrialEnd> parse_trial_end(std::string_view word) {
  return detail::parse_word<TrialEnd>(word, kTrialEndWords, "an end of a trial");
}

template <>
struct Form<TrialEnd> : WordForm<TrialEnd, parse_trial_end> {};

template <>
struct Fields<Resources> {
  static void visit(auto& visit, auto& resources) {
    visit("accelerators", resources.accelerators, Number{.min = 1, .max = kAcceleratorsMax});
    visit("memory", resources.memory, Number{.max = kMemoryMax.count()});
    visit("milli_cpus", resources.milli_cpus, Number{.max = kMilliCpusMax});
  }
};

template <>
struct Fields<AttemptRef> {
  static void visit(auto& visit, auto& ref) {
    visit("job", ref.task.job, Required());
    visit("number", ref.attempt, Number{.fallback = 1});
    visit("step", ref.task.step);
    visit("task", ref.task.index);
  }
};

// The number that a process left with is stored as the node told it.
constexpr Number kExitNumber = {.min = std::numeric_limits<std::int32_t>::min()};

template <>
struct Fields<RankReport> {
  static void visit(auto& visit, auto& report) {
    visit("attempt", report.attempt, Required());
    visit("cause", report.cause);
    visit("code", report.code, kExitNumber);
    visit("ended", report.ended);
    visit("ended_at", report.ended_at);
    visit("message", report.message);
    visit("published", report.published, AsObject());
    visit("rank", report.rank);
    visit("signal", report.signal, kExitNumber);
    visit("started_at", report.started_at);
  }
};

template <>
struct Fields<LostRanks> {
  static void visit(auto& visit, auto& lost) {
    visit("node", lost.node, Required());
    visit("ranks", lost.ranks);
  }
};

template <>
struct Fields<MetricReport> {
  static void visit(auto& visit, auto& report) {
    visit("attempt", report.attempt, Required());
    visit("bad_lines", report.bad_lines);
    visit("last", report.last);
    visit("step", report.step);
    visit("values", report.values, AsObject());
  }
};

template <>
struct Fields<HealthReport> {
  static constexpr Number kStepTime = {.max = kStepTimeMax.count()};
  static void visit(auto& visit, auto& report) {
    visit("ailment", report.problem);
    visit("attempt", report.attempt, Required());
    visit("median_micros", report.median, kStepTime);
    visit("metric", report.metric);
    visit("rank", report.rank);
    visit("silent_for", report.silent_for);
    visit("silent_others", report.silent_others);
    visit("since", report.since);
    visit("step", report.step, Number{.min = -1, .fallback = -1});
    visit("steps", report.steps);
    visit("took_micros", report.took, kStepTime);
    visit("value", report.value);
  }
};

template <>
struct Fields<NodeInfo> {
  static constexpr Number port_number(std::int64_t fallback) {
    return {.min = 1, .max = 65'535, .fallback = fallback};
  }
  static void visit(auto& visit, auto& node) {
    visit("address", node.address, Text{"127.0.0.1"});
    visit("capacity", node.capacity);
    visit("colocate", node.colocate);
    visit("draining", node.draining);
    visit("id", node.id, Required());
    visit("instance", node.instance);
    visit("pool", node.pool, Text{"local"});
    visit("port_first", node.port_first, port_number(20'000));
    visit("port_last", node.port_last, port_number(29'999));
    visit("price_micros", node.price, InMillionths{kPriceMax});
    visit("runner", node.runner);
    visit("spot", node.spot);
    visit("spot_price_micros", node.spot_price, InMillionths{kPriceMax});
    visit("withholds_devices", node.withholds_devices);
  }
  static Result<void> check(const NodeInfo& node) { return check_node(node); }
};

// [begin, end) pairs, ascending, none touching the next.
template <>
struct Form<IntervalSet> {
  static void write(json::Writer& out, const IntervalSet& set) {
    Form<std::vector<IntervalSet::Range>>::write(out, set.ranges());
  }
  static Result<void> read(const json::Value& json, IntervalSet& set) {
    std::vector<IntervalSet::Range> ranges;
    TRY(Form<std::vector<IntervalSet::Range>>::read(json, ranges));
    std::int64_t free_from = 0;
    for (const auto& [begin, end] : ranges) {
      if (begin < free_from || begin >= end) {
        return Error(Errc::kInvalid, "ranges must ascend and leave gaps between them");
      }
      set.insert(begin, end);
      free_from = end + 1;
    }
    return {};
  }
};

// By kind: {"H100":[[0,2]]}.
template <>
struct Form<Devices> {
  static void write(json::Writer& out, const Devices& devices) {
    out.begin_object();
    for (const auto& [kind, indices] : devices) {
      out.key(kind);
      Form<IntervalSet>::write(out, indices);
    }
    out.end_object();
  }
  static Result<void> read(const json::Value& json, Devices& devices) {
    TRY(detail::expect_kind(json, json::Value::Kind::kObject));
    for (const auto& [kind, member] : json.as_object()) {
      IntervalSet& indices = devices[kind];
      TRY(Form<IntervalSet>::read(member, indices));
      if (indices.empty() || indices.first_from(kAcceleratorsMax)) {
        return Error(Errc::kInvalid,
                     "the indices of devices are from 0 to " + std::to_string(kAcceleratorsMax - 1))
            .with_field(kind);
      }
    }
    return {};
  }
};

template <>
struct Fields<MissingDevice> {
  static constexpr Number kIndex = {.max = kAcceleratorsMax - 1};
  static void visit(auto& visit, auto& device) {
    visit("index", device.index, kIndex);
    visit("kind", device.kind, Required());
    visit("reason", device.reason);
    visit("since", device.since);
  }
};

template <>
struct Fields<DeviceReport> {
  static void visit(auto& visit, auto& report) { visit("missing", report.missing); }
};

template <>
struct Fields<QuarantinedDevice> {
  static void visit(auto& visit, auto& device) {
    visit("again_at", device.again_at);
    visit("index", device.index, Fields<MissingDevice>::kIndex);
    visit("kind", device.kind, Required());
    visit("reason", device.reason);
    visit("since", device.since);
  }
};

template <>
struct Fields<RankRef> {
  static void visit(auto& visit, auto& ref) {
    visit("attempt", ref.attempt, Required());
    visit("rank", ref.rank);
  }
};

template <>
struct Fields<Place> {
  static void visit(auto& visit, auto& place) {
    visit("devices", place.devices);
    visit("node", place.node, Required());
    visit("ranks", place.ranks, Number{.fallback = 1});
  }
};

template <>
struct Fields<RankExit> {
  static void visit(auto& visit, auto& exit) {
    visit("code", exit.code, kExitNumber);
    visit("rank", exit.rank);
    visit("signal", exit.signal, kExitNumber);
  }
};

}  // namespace runnel::model
