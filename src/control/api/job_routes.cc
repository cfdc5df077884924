#include "control/api/job_routes.h"

#include <charconv>
#include <utility>

#include "control/job_document.h"
#include "json/value.h"

namespace runnel::control {
namespace {

using Verb = model::JobRequest::Verb;

std::string_view content_type(const http::Request& request) {
  const std::string_view type = request.headers.find("content-type").value_or("application/json");
  return type.substr(0, type.find(';'));
}

Result<Submission> read_body(const http::Request& request, const JobFileQuery& query,
                             const std::string& owner) {
  const std::string_view type = content_type(request);
  if (type == "application/json") {
    TRY(read_query<NoQuery>(request));  // All is in the body.
    return read_submission(request.body, owner);
  }
  if (type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml") {
    return read_job_file(request.body, query.workdir, query.file, owner);
  }
  return Error(Errc::kInvalid, "a job comes as JSON or as YAML")
      .with_field("Content-Type")
      .with_value(std::string(type))
      .with_hint("send application/json with {\"spec\": ...}, or application/yaml");
}

Error deleted_since(const JobId& job) {
  return Error(Errc::kGone, "this key made job " + job.str() + ", which was deleted since")
      .with_field("Idempotency-Key")
      .with_value(job.str())
      .with_hint("submit it with another key");
}

// The version that If-Match asks for: "7" with its quotes, or "*" for any.
Result<std::optional<EventSeq>> version_of(const http::Request& request) {
  const std::string_view text = request.headers.find("if-match").value_or("*");
  if (text == "*") return std::optional<EventSeq>();
  std::string_view digits = text;
  if (digits.size() > 2 && digits.front() == '"' && digits.back() == '"') {
    digits = digits.substr(1, digits.size() - 2);
  }
  std::int64_t version = 0;
  auto [rest, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (failure == std::errc() && rest == digits.data() + digits.size()) {
    return std::optional(EventSeq(version));
  }
  return Error(Errc::kInvalid, "is not the version of a job")
      .with_field("If-Match")
      .with_value(std::string(text))
      .with_hint("send the ETag of the job's document");
}

Operation action(std::string_view path, std::string_view summary) {
  return {.method = http::Method::kPost,
          .path = path,
          .summary = summary,
          .answer = "Job",
          .body = "Call",
          .headers = {"If-Match"}};
}

http::Response created(const std::string& document, const JobId& job, EventSeq version) {
  http::Response response = http::Response::json_text(document, 201);
  response.headers.set("Location", "/api/v1/jobs/" + job.str());
  return with_version(std::move(response), version);
}

}  // namespace

std::vector<Route> JobRoutes::table() {
  using enum http::Method;
  return {
      route({.method = kPost,
             .path = "/jobs",
             .summary = "Submit a job; answers when it is durable",
             .answer = "Job",
             .body = "Submission",
             .headers = {"Idempotency-Key"},
             .other_bodies = {"application/yaml"}},
            *this, &JobRoutes::submit),
      route({.path = "/jobs/{id}",
             .summary = "One job; any unique prefix of its id",
             .answer = "Job",
             .headers = {"If-None-Match"}},
            *this, &JobRoutes::get),
      route({.method = kDelete,
             .path = "/jobs/{id}",
             .summary = "Remove the record, logs and folders of an ended job",
             .answer = "Deleted",
             .headers = {"If-Match"}},
            *this, &JobRoutes::remove),
      route(action("/jobs/{id}:cancel", "Stop a job for good"), *this, &JobRoutes::cancel),
      route(action("/jobs/{id}:halt", "Stop a job and keep what it needs to go on"), *this,
            &JobRoutes::halt),
      route(action("/jobs/{id}:resume", "Go on with a halted job"), *this, &JobRoutes::resume),
      route(action("/jobs/{id}:retry", "Run again what failed of an ended job"), *this,
            &JobRoutes::retry),
  };
}

Async<http::Reply> JobRoutes::submit(Ask ask, JobFileQuery query) {
  const model::Principal asks = ask.principal;
  if (asks.project != ProjectId("default")) {  // No command would see the job.
    co_return Error(Errc::kUnsupported, "a home has one project")
        .with_field("project")
        .with_value(asks.project.str())
        .with_hint("submit to /api/v1/jobs");
  }
  std::string key = CO_TRY(key_of(ask.request));
  Submission submission = CO_TRY(read_body(ask.request, query, asks.actor));
  ask.request.body = std::string();
  Answer answer = CO_TRY(co_await controller_.submit(std::move(submission), asks, std::move(key)));
  if (answer.outcome.refusal) co_return *std::move(answer.outcome.refusal);
  const JobId job = answer.outcome.job;
  if (answer.document.empty()) {  // A repeat of a submission whose job has left the state.
    Result<std::string> document = co_await jobs_.document(job, JobView::kFull);
    if (!document.ok() && document.error().code == Errc::kNotFound) co_return deleted_since(job);
    answer.document = CO_TRY(std::move(document));
  }
  co_return created(answer.document, job, answer.version);
}

Async<http::Reply> JobRoutes::get(Ask ask, JobQuery query) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  if (query.include == Include::kProgress) {  // It changes without the job's version.
    co_return http::Response::json_text(CO_TRY(
        co_await jobs_.document(job, JobView::kFull, CO_TRY(co_await jobs_.live_metrics(job)))));
  }
  const bool spec = query.include == Include::kSpec;
  const std::string document =
      CO_TRY(co_await jobs_.document(job, spec ? JobView::kWithSpec : JobView::kFull));
  const json::Value parsed = CO_TRY(json::parse(document));
  const json::Value* seq = parsed.find("resource_version");
  CHECK(seq != nullptr, "a job's document without its version");
  const EventSeq version(seq->as_int());
  http::Response response = with_version(http::Response::json_text(document), version);
  if (ask.request.headers.find("if-none-match") == response.headers.find("etag")) {
    response.status = 304;
    response.body.clear();
  }
  co_return response;
}

Async<http::Reply> JobRoutes::cancel(Ask ask, NoQuery) {
  return call(std::move(ask), Verb::kCancel);
}

Async<http::Reply> JobRoutes::halt(Ask ask, NoQuery) { return call(std::move(ask), Verb::kHalt); }

Async<http::Reply> JobRoutes::resume(Ask ask, NoQuery) {
  return call(std::move(ask), Verb::kResume);
}

Async<http::Reply> JobRoutes::retry(Ask ask, NoQuery) { return call(std::move(ask), Verb::kRetry); }

Async<http::Reply> JobRoutes::call(Ask ask, Verb verb) {
  CallBody body = CO_TRY(read_call(ask.request.body));
  JobCall wanted;
  wanted.verb = verb;
  wanted.actor = ask.principal.actor;
  wanted.secrets = std::move(body.secrets);
  wanted.version = CO_TRY(version_of(ask.request));
  wanted.job = CO_TRY(co_await jobs_.of_path(ask));
  const Answer answer = CO_TRY(co_await controller_.call(std::move(wanted)));
  if (answer.outcome.refusal) co_return *answer.outcome.refusal;
  co_return with_version(http::Response::json_text(answer.document), answer.version);
}

Async<http::Reply> JobRoutes::remove(Ask ask, RemoveQuery) {
  JobCall wanted;
  wanted.verb = Verb::kDelete;
  wanted.actor = ask.principal.actor;
  wanted.version = CO_TRY(version_of(ask.request));
  wanted.job = CO_TRY(co_await jobs_.of_path(ask));
  const JobId job = wanted.job;
  json::Value deleted = json::Value::object();
  deleted.set("deleted", json::Value::boolean(true));
  deleted.set("id", json::Value::text(job.str()));
  if (!controller_.state().jobs.contains(job)) {
    CO_TRY(co_await controller_.remove_archived(job, wanted.version));
    co_return http::Response::json(deleted);
  }
  const Answer answer = CO_TRY(co_await controller_.call(std::move(wanted)));
  if (answer.outcome.refusal) co_return *answer.outcome.refusal;
  co_return http::Response::json(deleted);
}

}  // namespace runnel::control
