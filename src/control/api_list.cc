#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "control/api.h"
#include "control/archive.h"
#include "control/job_document.h"
#include "json/value.h"
#include "store/checks.h"

namespace runnel::control {
namespace {

constexpr std::int64_t kRowsLookedAtMax = 20'000;  // Of the state, per page.
constexpr int kArchivePagesMax = 5;                // Per page, when a filter drops most entries.

// Which jobs a list shows.
struct JobFilter {
  enum class Kind : std::uint8_t { kAll, kUnfinished, kEnded, kOneStatus };
  Kind kind = Kind::kAll;
  model::Status status = model::Status::kQueued;

  bool matches(model::Status of_job) const {
    switch (kind) {
      case Kind::kAll: return true;
      case Kind::kUnfinished: return !model::is_end(of_job);
      case Kind::kEnded: return model::is_end(of_job);
      case Kind::kOneStatus: return of_job == status;
    }
    return false;
  }
  // Whether a job in the archive can match: those have ended.
  bool wants_archived() const {
    return kind == Kind::kOneStatus ? model::is_end(status) : kind != Kind::kUnfinished;
  }
};

// Studies are the jobs with a search; they are listed with their steps.
enum class JobKind : std::uint8_t { kAny, kStudy };

struct ListRequest {
  ProjectId project;
  JobFilter filter;
  JobKind kind = JobKind::kAny;
  std::int64_t limit = kPageDefault;
  std::string before;  // Ids below this one; "" begins with the newest.
};

// Newest first. `next` is where the list goes on, "" when it is at its end.
struct Rows {
  std::map<std::string, std::string, std::greater<>> by_id;
  std::string next;
};

Result<JobFilter> read_filter(const http::Request& request) {
  std::string word = text_of(request, "filter");
  if (word.empty()) return JobFilter();
  if (word == "unfinished") return JobFilter{JobFilter::Kind::kUnfinished, {}};
  if (word == "ended") return JobFilter{JobFilter::Kind::kEnded, {}};
  auto status = TRY(status_of(request, "filter"));
  return JobFilter{JobFilter::Kind::kOneStatus, *status};
}

Result<JobKind> read_kind(const http::Request& request) {
  const std::string word = text_of(request, "kind");
  if (word.empty()) return JobKind::kAny;
  if (word == "study") return JobKind::kStudy;
  return Error(Errc::kInvalid, "there is no such kind of jobs")
      .with_field("kind")
      .with_value(word)
      .with_hint("write kind=study, or leave it out");
}

Result<ListRequest> read_list_request(const http::Request& request) {
  TRY(known_only(request, {"limit", "page_token", "filter", "kind", "order_by"}));
  ListRequest wanted;
  wanted.project = TRY(project_of(request));
  wanted.filter = TRY(read_filter(request));
  wanted.kind = TRY(read_kind(request));
  wanted.limit = TRY(limit_of(request));
  wanted.before = text_of(request, "page_token");
  const std::string order = text_of(request, "order_by");
  if (!order.empty() && order != "-id") {
    return Error(Errc::kUnsupported, "jobs are listed newest first only")
        .with_field("order_by")
        .with_value(order)
        .with_hint("leave it out, or write order_by=-id");
  }
  if (wanted.before.empty() || is_job_id_prefix(wanted.before)) return wanted;
  return Error(Errc::kInvalid, "this is not a page token")
      .with_field("page_token")
      .with_value(wanted.before)
      .with_hint("pass next_page_token of the page before, or none");
}

JobView view_of(JobKind kind) { return kind == JobKind::kStudy ? JobView::kFull : JobView::kRow; }

Result<Rows> live_rows(const LogWriter& writer, const ListRequest& wanted) {
  const auto& jobs = writer.state().jobs;
  auto at = wanted.before.empty() ? jobs.end() : jobs.lower_bound(JobId(wanted.before));
  Rows rows;
  for (std::int64_t seen = 0; at != jobs.begin(); ++seen) {
    if (std::ssize(rows.by_id) >= wanted.limit || seen >= kRowsLookedAtMax) {
      rows.next = at->first.str();
      break;
    }
    const brain::Job& job = (--at)->second;
    if (job.project != wanted.project || !wanted.filter.matches(job.status)) continue;
    if (wanted.kind == JobKind::kStudy && !has_search(job)) continue;
    rows.by_id[job.id.str()] = job_document(job, writer.version_of(job.id), view_of(wanted.kind));
  }
  return rows;
}

// A record of the archive as a line of a list.
Result<std::string> row_of(const store::ArchiveEntry& entry, const ListRequest& wanted) {
  const JobFilter& filter = wanted.filter;
  json::Value record = TRY(json::parse(entry.text));
  const json::Value* word = record.find("status");
  const auto status = model::parse_status(word != nullptr ? word->as_text() : "");
  if (filter.kind != JobFilter::Kind::kAll && !(status.ok() && filter.matches(*status))) {
    return std::string();
  }
  if (wanted.kind == JobKind::kStudy) return entry.text;
  record.as_object().erase("steps");
  return record.dump();
}

// Where a job stands in the list that is asked for, and the key of its entry there.
store::ArchiveEntry place_of(const ListRequest& wanted, const JobId& job) {
  if (wanted.kind == JobKind::kStudy) {
    return {study_key(job), study_sort_key(wanted.project, job), ""};
  }
  return {job.str(), archive_sort_key(wanted.project, job), ""};
}

Result<Rows> archived_rows(store::EventLog& log, const ListRequest& wanted) {
  Rows rows;
  store::ArchiveQuery query;
  query.sort_prefix = place_of(wanted, JobId()).sort_key;
  query.limit = wanted.limit;
  if (!wanted.before.empty()) {
    const store::ArchiveEntry before = place_of(wanted, JobId(wanted.before));
    query.page_token = store::page_token({before.sort_key, before.key});
  }
  for (int page = 0; page < kArchivePagesMax; ++page) {
    store::ArchivePage found = TRY(log.list_archive(query));
    for (const store::ArchiveEntry& entry : found.entries) {
      const std::string id = TRY(job_of_key(entry.key)).str();
      std::string row = TRY(row_of(entry, wanted));
      if (!row.empty()) rows.by_id[id] = std::move(row);
      rows.next = id;
    }
    query.page_token = std::move(found.next_token);
    if (query.page_token.empty()) rows.next.clear();
    if (query.page_token.empty() || std::ssize(rows.by_id) >= wanted.limit) break;
  }
  return rows;
}

// The newest of both. A list that stopped early hides what is older than its end in the other.
std::string merge(Rows live, Rows archived, std::int64_t limit) {
  const std::string bound = std::max(live.next, archived.next);
  live.by_id.merge(std::move(archived.by_id));  // A job archived meanwhile is in both.
  std::string text = "{\"jobs\":[";
  std::string last;
  std::int64_t count = 0;
  auto row = live.by_id.begin();
  for (; row != live.by_id.end() && count < limit && row->first >= bound; ++row, ++count) {
    if (count > 0) text += ",";
    text += row->second;
    last = row->first;
  }
  text += "]";
  const bool cut = row != live.by_id.end() && row->first >= bound;
  const std::string& next = cut ? last : bound;
  if (!next.empty()) text += ",\"next_page_token\":\"" + next + "\"";
  return text + "}";
}

}  // namespace

Async<http::Reply> Api::list_jobs(http::Request request) {
  const ListRequest wanted = CO_TRY(read_list_request(request));
  Result<Rows> read = co_await controller_.answer<Rows>(
      [&wanted](const LogWriter& writer) { return live_rows(writer, wanted); });
  Rows live = CO_TRY(std::move(read));
  Rows archived;
  if (wanted.filter.wants_archived()) {
    Result<Rows> stored = co_await controller_.writer().read<Rows>(
        [&wanted](store::EventLog& log) { return archived_rows(log, wanted); });
    archived = CO_TRY(std::move(stored));
  }
  co_return http::Response::json_text(merge(std::move(live), std::move(archived), wanted.limit));
}

}  // namespace runnel::control
