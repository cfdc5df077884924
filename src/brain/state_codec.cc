#include <algorithm>
#include <concepts>
#include <deque>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/state.h"
#include "brain/state_check.h"
#include "json/read.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/spec_records.h"

// Not in an unnamed namespace: a codec template is made of them.
namespace runnel::brain {

// Tasks of a step that have the same to remember.
struct AlikeTasks {
  Task task;
  IntervalSet indexes;
};

// A job without its steps' kept tasks, which stand by step in `kept`.
struct JobRecord {
  Job job;
  std::vector<std::vector<AlikeTasks>> kept;
};

constexpr model::detail::Words<5> kMomentWords = {"asked", "reported", "promoted", "told", "moved"};

std::string_view to_string(Study::Moment::What what) {
  return model::detail::word_of(what, kMomentWords);
}

Result<Study::Moment::What> parse_moment(std::string_view word) {
  return model::detail::parse_word<Study::Moment::What>(word, kMomentWords, "a moment of a study");
}

}  // namespace runnel::brain

// The snapshot's form: docs/design/brain.md, "Snapshots". What follows from the rest (counts, open
// lanes of a step) is not stored, so a snapshot cannot contradict itself there.
namespace runnel::model {

// Statuses without tasks are left out: whether one ever had any is not part of the state.
template <>
struct Form<std::map<Status, IntervalSet>> {
  static void write(json::Writer& out, const std::map<Status, IntervalSet>& sets) {
    out.begin_list();
    for (const auto& entry : sets) {
      if (!entry.second.empty()) Form<std::pair<Status, IntervalSet>>::write(out, entry);
    }
    out.end_list();
  }
  static Result<void> read(const json::Value& json, std::map<Status, IntervalSet>& sets) {
    std::vector<std::pair<Status, IntervalSet>> entries;
    TRY((Form<std::vector<std::pair<Status, IntervalSet>>>::read(json, entries)));
    for (auto& [status, set] : entries) {
      if (set.empty()) return Error(Errc::kInvalid, "a status without tasks is left out");
      if (!sets.empty() && sets.rbegin()->first >= status) {
        return Error(Errc::kInvalid, "statuses must stand in their order");
      }
      sets.emplace_hint(sets.end(), status, std::move(set));
    }
    return {};
  }
};

template <typename T>
struct Form<std::deque<T>> {
  static void write(json::Writer& out, const std::deque<T>& values) {
    out.begin_list();
    for (const T& value : values) Form<T>::write(out, value);
    out.end_list();
  }
  static Result<void> read(const json::Value& json, std::deque<T>& values) {
    std::vector<T> items;
    TRY(Form<std::vector<T>>::read(json, items));
    values.assign(items.begin(), items.end());
    return {};
  }
};

// Values that hold their own key.
inline const JobId& key_of(const brain::Job& job) { return job.id; }
inline const NodeId& key_of(const brain::Node& node) { return node.info.id; }
inline LaneId key_of(const brain::Lane& lane) { return lane.id; }
inline std::int32_t key_of(const RankExit& exit) { return exit.rank; }

template <typename Key, typename T>
concept HoldsItsKey = requires(const T& value) {
  { key_of(value) } -> std::convertible_to<Key>;
};

namespace detail {

// Adds items whose keys must ascend.
template <typename Map, typename Item, typename Add>
Result<void> read_ascending(const json::Value& json, Map& map, Add add) {
  std::vector<Item> items;
  TRY(Form<std::vector<Item>>::read(json, items));
  for (Item& item : items) {
    const std::size_t before = map.size();
    const auto added = add(map, std::move(item));
    if (map.size() == before || std::next(added) != map.end()) {
      return Error(Errc::kInvalid, "what stands in a list by its key must ascend");
    }
  }
  return {};
}

}  // namespace detail

// A map whose values hold their keys, as the list of the values.
template <typename Key, typename T>
  requires HoldsItsKey<Key, T>
struct Form<std::map<Key, T>> {
  using Map = std::map<Key, T>;
  static void write(json::Writer& out, const Map& map) {
    out.begin_list();
    for (const auto& [key, value] : map) {
      CHECK(key == key_of(value), "a value stands under another key than its own");
      Form<T>::write(out, value);
    }
    out.end_list();
  }
  static Result<void> read(const json::Value& json, Map& map) {
    return detail::read_ascending<Map, T>(json, map, [](Map& to, T&& value) {
      const Key key(key_of(value));
      return to.try_emplace(key, std::move(value)).first;
    });
  }
};

// Any other map, as the list of its pairs.
template <typename Key, typename T>
  requires(!HoldsItsKey<Key, T>)
struct Form<std::map<Key, T>> {
  using Map = std::map<Key, T>;
  using Item = std::pair<Key, T>;
  static void write(json::Writer& out, const Map& map) {
    out.begin_list();
    for (const auto& [key, value] : map) {
      out.begin_list();
      Form<Key>::write(out, key);
      Form<T>::write(out, value);
      out.end_list();
    }
    out.end_list();
  }
  static Result<void> read(const json::Value& json, Map& map) {
    return detail::read_ascending<Map, Item>(
        json, map, [](Map& to, Item item) { return to.insert(std::move(item)).first; });
  }
};

template <>
struct Fields<brain::Verdict> {
  static void visit(auto& visit, auto& verdict) {
    visit("action", verdict.action, Required());
    visit("message", verdict.message);
    visit("rank", verdict.rank);
    visit("reason", verdict.reason, Required());
  }
};

template <>
struct Fields<brain::Warning> {
  static void visit(auto& visit, auto& warning) {
    visit("action", warning.action);
    visit("at", warning.at);
    visit("attempt", warning.attempt, Number{.fallback = 1});
    visit("message", warning.message);
    visit("rank", warning.rank);
    visit("reason", warning.reason, Required());
    visit("since", warning.since);
    visit("task", warning.task);
  }
};

template <>
struct Fields<brain::LiveAttempt> {
  static void visit(auto& visit, auto& live) {
    visit("crashed", live.crashed);
    visit("ended_ranks", live.ended_ranks);
    visit("first_failed", live.first_failed, Number{.min = -1, .fallback = -1});
    visit("first_failed_cause", live.first_failed_cause);
    visit("lane", live.lane, Required());
    visit("number", live.number, Number{.fallback = 1});
    visit("params", live.params);
    visit("started_at", live.started_at);
    visit("status", live.status);
    visit("stopping", live.stopping);
    visit("verdict", live.verdict);
    visit("warned", live.warned);
  }
};

template <>
struct Fields<brain::Suspicion> {
  static void visit(auto& visit, auto& suspicion) {
    visit("alone", suspicion.alone);
    visit("crash", suspicion.crash);
    visit("node", suspicion.node);
    visit("outlive", suspicion.outlive);
    visit("turn", suspicion.turn);
  }
};

template <>
struct Fields<brain::Task> {
  static void visit(auto& visit, auto& task) {
    visit("alone", task.alone);
    visit("attempts", task.attempts, Number{.fallback = 1});
    visit("charged", task.charged);
    visit("crashes", task.crashes);
    visit("exit_code", task.exit_code, kExitNumber);
    visit("live", task.live);
    visit("losses", task.losses);
    visit("not_before", task.not_before);
    visit("obstacle", task.obstacle);
    visit("outlive", task.outlive);
    visit("reason", task.reason);
    visit("status", task.status);
    visit("suspicion", task.suspicion);
  }
};

template <>
struct Form<brain::Study::Moment::What>
    : WordForm<brain::Study::Moment::What, brain::parse_moment> {};

template <>
struct Fields<brain::Study::Moment> {
  static void visit(auto& visit, auto& moment) {
    visit("trial", moment.trial);
    visit("what", moment.what);
  }
};

template <>
struct Fields<brain::TrialReport> {
  static void visit(auto& visit, auto& report) {
    visit("at", report.at, kAnyNumber);
    visit("attempt", report.attempt);
    visit("values", report.values);
  }
};

template <>
struct Fields<brain::TrialMove> {
  static void visit(auto& visit, auto& move) {
    visit("at", move.at, kAnyNumber);
    visit("donor", move.donor);
    visit("left", move.left);
    visit("reports", move.reports);
  }
};

template <>
struct Fields<brain::Trial> {
  static void visit(auto& visit, auto& trial) {
    visit("moves", trial.moves);
    visit("params", trial.params);
    visit("parked", trial.parked);
    visit("reports", trial.reports);
    visit("told", trial.told);
  }
};

template <>
struct Fields<brain::Study> {
  static void visit(auto& visit, auto& study) {
    visit("begun_at", study.begun_at);
    visit("best", study.best, Number{.min = -1, .fallback = -1});
    visit("history", study.history);
    visit("stopped", study.stopped);
    visit("trials", study.trials);
  }
};

template <>
struct Fields<model::Rate> {
  static void visit(auto& visit, auto& rate) {
    visit("list", rate.list);
    visit("paid", rate.paid);
  }
};

template <>
struct Fields<model::Cost> {
  static void visit(auto& visit, auto& cost) {
    visit("list", cost.list);
    visit("paid", cost.paid);
  }
};

template <>
struct Fields<brain::Step> {
  static void visit(auto& visit, auto& step) {
    visit("accrued_at", step.accrued_at);
    visit("ended_at", step.ended_at);
    visit("plain", step.plain, Required());
    visit("published", step.published, AsObject());
    visit("ready_since", step.ready_since);
    visit("reason", step.reason);
    visit("recent_millis", step.recent_millis, Number{.min = -1, .fallback = -1});
    visit("spent", step.spent);
    visit("started_at", step.started_at);
    visit("status", step.status);
    visit("study", step.study);
    visit("tasks", step.tasks);
    visit("warned", step.warned);
    visit("warnings", step.warnings);
  }
};

template <>
struct Fields<brain::Job> {
  static void visit(auto& visit, auto& job) {
    visit("ended_at", job.ended_at);
    visit("first_event", job.first_event);
    visit("halted", job.halted);
    visit("id", job.id, Required());
    visit("message", job.message);
    visit("order", job.order, Required());
    visit("owner", job.owner);
    visit("project", job.project, Required());
    visit("queue", job.queue, Required());
    visit("reason", job.reason);
    visit("spec", job.spec, Required());
    visit("started_at", job.started_at);
    visit("status", job.status);
    visit("steps", job.steps, Required());
    visit("submitted_at", job.submitted_at);
  }
};

template <>
struct Fields<brain::AlikeTasks> {
  static void visit(auto& visit, auto& alike) {
    visit("indexes", alike.indexes, Required());
    visit("task", alike.task, Required());
  }
};

template <>
struct Fields<brain::JobRecord> {
  static void visit(auto& visit, auto& record) {
    visit("job", record.job, Required());
    visit("kept", record.kept, Required());
  }
};

template <>
struct Fields<brain::Lane> {
  static void visit(auto& visit, auto& lane) {
    StoredHolding held = stored(lane.holding);
    visit("apart", lane.apart);
    visit("holder", held.holder);
    visit("id", lane.id, Required());
    visit("job", lane.job, Required());
    visit("lease", held.lease);
    visit("opened_at", lane.opened_at);
    visit("per_place", lane.per_place);
    visit("places", held.places, Required());
    visit("port", lane.port, Number{.max = 65'535});
    visit("progress_at", lane.progress_at);
    visit("queue", lane.queue);
    visit("rate", lane.rate);
    visit("step", lane.step);
    if constexpr (detail::kIsRead<decltype(lane)>) lane.holding = restored(std::move(held));
  }
};

template <>
struct Fields<brain::Node> {
  static void visit(auto& visit, auto& node) {
    visit("incarnation", node.incarnation, Required());
    visit("info", node.info, Required());
    visit("leaves_at", node.leaves_at);
    visit("quarantined", node.quarantined);
    visit("reason", node.reason);
    visit("strangers", node.strangers);
    visit("up", node.up);
  }
};

template <>
struct Fields<brain::KeyRecord> {
  static void visit(auto& visit, auto& record) {
    visit("at", record.at);
    visit("body_hash", record.body_hash);
    visit("job", record.job, Required());
  }
};

template <>
struct Fields<brain::KeyName> {
  static void visit(auto& visit, auto& name) {
    visit("actor", name.actor, Required());
    visit("key", name.key, Required());
    visit("project", name.project, Required());
  }
};

// Everybody's keys stand by their text, as they always did, and the others beside them.
struct StoredKeys {
  std::map<std::string, brain::KeyRecord> bare;
  std::map<brain::KeyName, brain::KeyRecord> owned;
};

StoredKeys stored_keys(const std::map<brain::KeyName, brain::KeyRecord>& keys) {
  StoredKeys stored;
  for (const auto& [name, record] : keys) {
    if (name.actor.empty()) stored.bare.emplace(name.key, record);
    if (!name.actor.empty()) stored.owned.emplace(name, record);
  }
  return stored;
}

std::map<brain::KeyName, brain::KeyRecord> restored_keys(StoredKeys stored) {
  std::map<brain::KeyName, brain::KeyRecord> keys = std::move(stored.owned);
  for (auto& [key, record] : stored.bare) keys.emplace(brain::KeyName{{}, {}, key}, record);
  return keys;
}

template <>
struct Fields<brain::State> {
  static void visit(auto& visit, auto& state) {
    StoredKeys keys = stored_keys(state.keys);
    visit("finished", state.finished);
    visit("jobs", state.jobs);
    visit("keys", keys.bare);
    visit("lanes", state.lanes);
    visit("last_event", state.last_event);
    visit("last_lane", state.last_lane);
    visit("last_order", state.last_order);
    visit("last_port", state.last_port, Number{.max = 65'535});
    visit("nodes", state.nodes);
    visit("now", state.now);
    visit("owned_keys", keys.owned);
    if constexpr (detail::kIsRead<decltype(state)>) state.keys = restored_keys(std::move(keys));
  }
};

}  // namespace runnel::model

namespace runnel::brain {
namespace {

using model::Status;

constexpr std::int64_t kStateVersion = 1;
// A state of kUnfinishedJobsMax small jobs has about 100 MB.
constexpr std::size_t kStateBytesMax = std::size_t{1} << 30;

void count(Step& step) {
  step.counts = {};
  for (const auto& [status, set] : step.plain) {
    step.counts[static_cast<std::size_t>(status)] += set.size();
  }
  for (const auto& [index, task] : step.tasks) ++step.counts[static_cast<std::size_t>(task.status)];
  if (!step.study) return;
  step.study->parked = std::count_if(step.study->trials.begin(), step.study->trials.end(),
                                     [](const Trial& trial) { return trial.parked; });
}

// What is not stored because it follows from the rest.
void derive(State& state) {
  for (auto& [id, job] : state.jobs) {
    for (Step& step : job.steps) count(step);
  }
  for (const auto& [id, lane] : state.lanes) {
    Step& step = state.jobs.at(lane.job).steps.at(static_cast<std::size_t>(lane.step.value()));
    ++step.lanes;
    step.rate = step.rate + lane.rate;
  }
}

Result<void> check_version(json::Reader& reader, const std::string& what) {
  const std::int64_t version = TRY(reader.integer("version"));
  if (version == kStateVersion) return {};
  Error error(Errc::kUnsupported, "this " + what + " is of version " + std::to_string(version) +
                                      "; this build reads version " +
                                      std::to_string(kStateVersion));
  return error.with_field("version").with_hint("use the newer runnel that wrote it");
}

// The fields of a record beside the version of them all.
template <typename Record>
std::string encode_versioned(const Record& record) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  model::write_fields(out, record);
  out.field("version", kStateVersion);
  out.end_object();
  return text;
}

template <typename Record>
Result<Record> decode_versioned(std::string_view text, const std::string& what) {
  const json::Value document = TRY(json::parse(text, {.bytes_max = kStateBytesMax}));
  json::Reader reader = TRY(json::Reader::of(document, ""));
  TRY(check_version(reader, what));
  return model::read_fields<Record>(reader);
}

std::string text_of(const Task& task) {
  std::string text;
  json::Writer out(text);
  model::write_record(out, task);
  return text;
}

std::vector<AlikeTasks> by_past(const std::map<TaskIndex, Task>& tasks) {
  std::map<std::string, AlikeTasks> found;
  AlikeTasks* last = nullptr;  // Neighbours are mostly alike, and are not written to see it.
  for (const auto& [index, task] : tasks) {
    CHECK(!task.live.has_value(), "a finished job has a live attempt");
    if (last == nullptr || !(last->task == task)) last = &found[text_of(task)];
    if (last->indexes.empty()) last->task = task;
    last->indexes.insert(index.value());
  }
  std::vector<AlikeTasks> all;
  all.reserve(found.size());
  for (auto& [past, alike] : found) all.push_back(std::move(alike));
  return all;
}

Result<void> spread(const std::vector<AlikeTasks>& kept, std::int64_t count, Step& step) {
  for (const AlikeTasks& alike : kept) {
    for (const auto& [begin, end] : alike.indexes.ranges()) {
      if (end > count) return Error(Errc::kCorrupt, "a record names tasks beyond its step's");
      for (std::int64_t index = begin; index < end; ++index) {
        step.tasks[TaskIndex(index)] = alike.task;
      }
    }
  }
  return {};
}

}  // namespace

std::string encode_state(const State& state) { return encode_versioned(state); }

Result<State> decode_state(std::string_view text) {
  auto state = TRY(decode_versioned<State>(text, "snapshot"));
  TRY(check_state(state));
  derive(state);
  return state;
}

std::string encode_job(Job job) {
  CHECK(model::is_end(job.status), "an unfinished job stays in the state");
  JobRecord record;
  for (Step& step : job.steps) record.kept.push_back(by_past(std::exchange(step.tasks, {})));
  record.job = std::move(job);
  return encode_versioned(record);
}

Result<Job> decode_job(std::string_view text) {
  auto record = TRY(decode_versioned<JobRecord>(text, "record of a job"));
  Job& job = record.job;
  const bool whole = job.spec != nullptr && job.steps.size() == job.spec->steps.size() &&
                     job.steps.size() == record.kept.size();
  if (!whole) return Error(Errc::kCorrupt, "a record's steps are not its specification's");
  for (std::size_t at = 0; at < job.steps.size(); ++at) {
    TRY(spread(record.kept[at], job.spec->steps[at].task_count, job.steps[at]));
  }
  State alone;
  const JobId id = job.id;
  alone.last_order = job.order;
  alone.finished.push_back(id);
  alone.jobs.emplace(id, std::move(job));
  TRY(check_state(alone));
  derive(alone);
  return std::move(alone.jobs.at(id));
}

}  // namespace runnel::brain
