#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "control/api/query.h"
#include "control/task_walk.h"
#include "model/spec.h"
#include "model/status.h"

// What the queries of all requests can say, and by which names.
namespace runnel::control {

struct NoQuery {};

// The query of a submission as YAML.
struct JobFileQuery {
  std::string file;
  std::string owner;  // As earlier clients tell; it means nothing.
  std::string workdir;
};

enum class Include : std::uint8_t { kNothing, kSpec, kProgress };
struct JobQuery {
  Include include = Include::kNothing;
};

struct RemoveQuery {
  std::string actor;  // As earlier clients tell; it means nothing.
};

// Which jobs a list shows: "unfinished", "ended" or a status.
struct JobFilter {
  enum class Kind : std::uint8_t { kAll, kUnfinished, kEnded, kOneStatus };
  Kind kind = Kind::kAll;
  model::Status status = model::Status::kQueued;

  bool matches(model::Status of_job) const;
  // Whether a job in the archive can match: those have ended.
  bool wants_archived() const;
};
// Studies are the jobs with a search; they are listed with their steps.
enum class JobKind : std::uint8_t { kAny, kStudy };
// Jobs are listed in one order: newest first, "-id".
struct JobOrder {};
// The id of the last job of the page before; "" begins with the newest.
struct JobPageToken {
  std::string before;
};
struct JobListQuery {
  JobFilter filter;
  JobKind kind = JobKind::kAny;
  std::int64_t limit = kPageDefault;
  JobOrder order;
  JobPageToken page;
};

// Steps are resolved against the job.
struct TaskListQuery {
  std::int64_t limit = kPageDefault;
  TaskPlace from;
  std::optional<model::Status> status;
  std::string step;
};

enum class Until : std::uint8_t { kForever, kEnd };
struct EventsQuery {
  std::optional<EventSeq> after;
  std::int64_t limit = kPageDefault;
  Until until = Until::kForever;
  Flag watch = Flag::kOff;
};

// "10m" before now, or "2026-11-21T14:05:28Z".
struct Since {
  std::optional<Duration> ago;
  Time moment;

  Time at(Time now) const { return ago ? now - *ago : moment; }
};
enum class LogFormat : std::uint8_t { kJson, kRaw };
struct LogsQuery {
  std::optional<AttemptNumber> attempt;
  std::string cursor;
  Flag follow = Flag::kOff;
  LogFormat format = LogFormat::kJson;
  std::optional<std::int32_t> rank;
  std::optional<Since> since;
  std::string step;
  std::optional<std::int64_t> tail;
  std::optional<TaskIndex> task;
};

struct MetricsQuery {
  std::int64_t limit = kPageDefault;
  TaskPlace from;
  std::string step;
  std::optional<TaskIndex> task;
};

struct TrialListQuery {
  std::int64_t limit = kPageDefault;
  std::int64_t from = 0;
  std::string step;
};

// The step of a search; "" is the job's only one.
struct StudyQuery {
  std::string step;
};

struct PreemptQuery {
  static constexpr Duration kNoticeDefault = Duration::seconds(30);
  static constexpr Duration kAwayDefault = Duration::seconds(60);
  Duration away = kAwayDefault;
  Duration notice = kNoticeDefault;
};

template <>
struct QueryWords<Include> {
  static constexpr std::array<std::pair<std::string_view, Include>, 2> kAll = {
      {{"spec", Include::kSpec}, {"progress", Include::kProgress}}};
};
template <>
struct QueryWords<JobKind> {
  static constexpr std::array<std::pair<std::string_view, JobKind>, 1> kAll = {
      {{"study", JobKind::kStudy}}};
};
template <>
struct QueryWords<Until> {
  static constexpr std::array<std::pair<std::string_view, Until>, 1> kAll = {
      {{"end", Until::kEnd}}};
};
template <>
struct QueryWords<LogFormat> {
  static constexpr std::array<std::pair<std::string_view, LogFormat>, 2> kAll = {
      {{"json", LogFormat::kJson}, {"raw", LogFormat::kRaw}}};
};

template <>
struct QueryForm<JobFilter> {
  static Result<JobFilter> read(const std::string& text);
  static json::Value schema() { return detail::text_schema(); }
};
template <>
struct QueryForm<JobOrder> {
  static Result<JobOrder> read(const std::string& text);
  static json::Value schema() { return detail::words_schema({"-id"}); }
};
template <>
struct QueryForm<JobPageToken> {
  static Result<JobPageToken> read(const std::string& text);
  static json::Value schema() { return detail::text_schema(); }
};
template <>
struct QueryForm<TaskPlace> {
  static Result<TaskPlace> read(const std::string& text) { return TaskPlace::parse(text); }
  static json::Value schema() { return detail::text_schema(); }
};
// In any case of letters.
template <>
struct QueryForm<model::Status> {
  static Result<model::Status> read(const std::string& text);
  static json::Value schema() { return detail::text_schema(); }
};
template <>
struct QueryForm<Since> {
  static Result<Since> read(const std::string& text);
  static json::Value schema() { return detail::text_schema(); }
};

}  // namespace runnel::control

namespace runnel::model {

template <>
struct Fields<control::NoQuery> {
  static void visit(auto&, auto&) {}
};
template <>
struct Fields<control::JobFileQuery> {
  static void visit(auto& visit, auto& query) {
    visit("file", query.file);
    visit("owner", query.owner);
    visit("workdir", query.workdir);
  }
};
template <>
struct Fields<control::JobQuery> {
  static void visit(auto& visit, auto& query) { visit("include", query.include); }
};
template <>
struct Fields<control::RemoveQuery> {
  static void visit(auto& visit, auto& query) { visit("actor", query.actor); }
};
template <>
struct Fields<control::JobListQuery> {
  static void visit(auto& visit, auto& query) {
    visit("filter", query.filter);
    visit("kind", query.kind);
    visit("limit", query.limit, control::kPageLimit);
    visit("order_by", query.order);
    visit("page_token", query.page);
  }
};
template <>
struct Fields<control::TaskListQuery> {
  static void visit(auto& visit, auto& query) {
    visit("limit", query.limit, control::kPageLimit);
    visit("page_token", query.from);
    visit("status", query.status);
    visit("step", query.step);
  }
};
template <>
struct Fields<control::EventsQuery> {
  static void visit(auto& visit, auto& query) {
    visit("after", query.after, Number());
    visit("limit", query.limit, control::kPageLimit);
    visit("until", query.until);
    visit("watch", query.watch);
  }
};
template <>
struct Fields<control::LogsQuery> {
  static void visit(auto& visit, auto& query) {
    constexpr Number kInteger32 = {.max = std::numeric_limits<std::int32_t>::max()};
    visit("attempt", query.attempt, kInteger32);
    visit("cursor", query.cursor);
    visit("follow", query.follow);
    visit("format", query.format);
    visit("rank", query.rank, kInteger32);
    visit("since", query.since);
    visit("step", query.step);
    visit("tail", query.tail, Number{.max = control::kTailMax});
    visit("task", query.task, kInteger32);
  }
};
template <>
struct Fields<control::MetricsQuery> {
  static void visit(auto& visit, auto& query) {
    visit("limit", query.limit, control::kPageLimit);
    visit("page_token", query.from);
    visit("step", query.step);
    visit("task", query.task, Number{.max = kTasksPerStepMax});
  }
};
template <>
struct Fields<control::TrialListQuery> {
  static void visit(auto& visit, auto& query) {
    visit("limit", query.limit, control::kPageLimit);
    visit("page_token", query.from, Number{.max = kTasksPerStepMax});
    visit("step", query.step);
  }
};
template <>
struct Fields<control::StudyQuery> {
  static void visit(auto& visit, auto& query) { visit("step", query.step); }
};
template <>
struct Fields<control::PreemptQuery> {
  static void visit(auto& visit, auto& query) {
    visit("away", query.away);
    visit("notice", query.notice);
  }
};

}  // namespace runnel::model
