#include "control/api/queries.h"

#include <algorithm>
#include <cctype>

#include "control/job_id.h"

namespace runnel::control {

bool JobFilter::matches(model::Status of_job) const {
  switch (kind) {
    case Kind::kAll: return true;
    case Kind::kUnfinished: return !model::is_end(of_job);
    case Kind::kEnded: return model::is_end(of_job);
    case Kind::kOneStatus: return of_job == status;
  }
  return false;
}

bool JobFilter::wants_archived() const {
  return kind == Kind::kOneStatus ? model::is_end(status) : kind != Kind::kUnfinished;
}

Result<JobFilter> QueryForm<JobFilter>::read(const std::string& text) {
  if (text == "unfinished") return JobFilter{JobFilter::Kind::kUnfinished, {}};
  if (text == "ended") return JobFilter{JobFilter::Kind::kEnded, {}};
  return JobFilter{JobFilter::Kind::kOneStatus, TRY(QueryForm<model::Status>::read(text))};
}

Result<JobOrder> QueryForm<JobOrder>::read(const std::string& text) {
  if (text == "-id") return JobOrder();
  return Error(Errc::kUnsupported, "jobs are listed newest first only")
      .with_hint("leave it out, or write order_by=-id");
}

Result<JobPageToken> QueryForm<JobPageToken>::read(const std::string& text) {
  if (time_of(JobId::parse(text).value_or(JobId())) != Time()) return JobPageToken{text};
  return Error(Errc::kInvalid, "this is not a page token")
      .with_hint("pass next_page_token of the page before, or none");
}

Result<model::Status> QueryForm<model::Status>::read(const std::string& text) {
  std::string word = text;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return model::parse_status(word);
}

Result<Since> QueryForm<Since>::read(const std::string& text) {
  if (const auto ago = parse_duration(text); ago.ok()) return Since{*ago, Time()};
  if (const auto moment = parse_rfc3339(text); moment.ok()) return Since{std::nullopt, *moment};
  return detail::bad_parameter(text, "is neither a length of time nor a moment",
                               "write 10m, 2h30m or 2026-11-21T14:05:28Z");
}

}  // namespace runnel::control
