#include "control/api/job_list_route.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "control/archive.h"
#include "control/job_document.h"
#include "json/value.h"
#include "store/checks.h"

namespace runnel::control {
namespace {

constexpr std::int64_t kRowsLookedAtMax = 20'000;  // Jobs of the state, per page.
constexpr int kArchivePagesMax = 5;                // Per page, when a filter drops most entries.

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

Result<Rows> archived_rows(store::LogReader& log, const ListRequest& wanted) {
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

std::vector<Route> JobListRoute::table() {
  return {route({.path = "/jobs",
                 .summary = "List jobs, newest first; kind=study those with a search",
                 .answer = "JobPage"},
                *this, &JobListRoute::list)};
}

Async<http::Reply> JobListRoute::list(Ask ask, JobListQuery query) {
  const ListRequest wanted{ask.principal.project, query.filter, query.kind, query.limit,
                           std::move(query.page.before)};
  Rows live = CO_TRY(co_await controller_.answer<Rows>(
      [&wanted](const LogWriter& writer) { return live_rows(writer, wanted); }));
  Rows archived;
  if (wanted.filter.wants_archived()) {
    archived = CO_TRY(co_await controller_.writer().read<Rows>(
        [&wanted](store::LogReader& log) { return archived_rows(log, wanted); }));
  }
  co_return http::Response::json_text(merge(std::move(live), std::move(archived), wanted.limit));
}

}  // namespace runnel::control
