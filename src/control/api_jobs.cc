#include <charconv>
#include <utility>

#include "brain/explain.h"
#include "control/api.h"
#include "control/job_document.h"
#include "control/progress_document.h"
#include "json/value.h"
#include "json/writer.h"

namespace runnel::control {
namespace {

// A look at each of many tasks is short, and sees where a task began and how far it is.
constexpr std::int64_t kLiveBytesMax = std::int64_t{1} << 20;

using Verb = model::JobRequest::Verb;

constexpr std::size_t kKeyBytesMax = 255;

std::string_view content_type(const http::Request& request) {
  const std::string_view type = request.headers.find("content-type").value_or("application/json");
  return type.substr(0, type.find(';'));
}

Result<Submission> read_body(const http::Request& request) {
  const std::string_view type = content_type(request);
  if (type == "application/json") {
    TRY(known_only(request, {}));
    return read_submission(request.body);
  }
  if (type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml") {
    TRY(known_only(request, {"workdir", "file", "owner"}));
    return read_job_file(request.body, text_of(request, "workdir"), text_of(request, "file"),
                         text_of(request, "owner"));
  }
  return Error(Errc::kInvalid, "a job comes as JSON or as YAML")
      .with_field("Content-Type")
      .with_value(std::string(type))
      .with_hint("send application/json with {\"spec\": ...}, or application/yaml");
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

http::Response created(const std::string& document, const JobId& job, EventSeq version) {
  http::Response response = http::Response::json_text(document, 201);
  response.headers.set("Location", "/api/v1/jobs/" + job.str());
  return with_version(std::move(response), version);
}

void write_blockers(json::Value& wait, const std::vector<JobId>& blockers) {
  if (blockers.empty()) return;
  json::Value::List ids;
  for (const JobId& job : blockers) ids.push_back(json::Value::text(job.str()));
  wait.set("blockers", json::Value::list(std::move(ids)));
}

json::Value wait_document(const model::JobSpec& spec, const brain::Wait& wait) {
  json::Value out = json::Value::object();
  out.set("message", json::Value::text(wait.message));
  if (wait.position > 0) out.set("position", json::Value::integer(wait.position));
  out.set("reason", json::Value::text(wait.reason));
  if (!wait.remedy.empty()) out.set("remedy", json::Value::text(wait.remedy));
  const auto step = static_cast<std::size_t>(wait.step.value());
  out.set("step", json::Value::text(spec.steps.at(step).name));
  write_blockers(out, wait.blockers);
  return out;
}

std::string ended_explanation(const brain::Job& job) {
  json::Value out = json::Value::object();
  out.set("id", json::Value::text(job.id.str()));
  out.set("status", json::Value::text(std::string(model::to_string(job.status))));
  out.set("waits", json::Value::list());
  return out.dump();
}

// Whatever else it waits for, nothing starts or ends without its node's runner, or the home's disk.
json::Value wait_for_part(const Silence& silence, const std::string& part,
                          const std::string& reason) {
  json::Value out = silence_document(silence);
  out.set("reason", json::Value::text(reason));
  out.set("step", json::Value::text(part));
  return out;
}

// Made while what is known of the job cannot become durable: it tells of nothing else.
std::string disk_explanation(const JobId& job, const Silence& silence) {
  json::Value out = json::Value::object();
  out.set("id", json::Value::text(job.str()));
  out.set("waits", json::Value::list({wait_for_part(silence, "disk", "DiskSilent")}));
  return out.dump();
}

Result<std::string> explanation(const LogWriter& writer, const JobId& job, const HomeInfo& home,
                                const std::optional<Silence>& disk_full) {
  json::Value out = json::Value::object();
  out.set("id", json::Value::text(job.str()));
  json::Value::List waits;
  auto found = writer.state().jobs.find(job);
  if (found != writer.state().jobs.end()) {
    out.set("status", json::Value::text(std::string(model::to_string(found->second.status))));
    const bool over = model::is_end(found->second.status);
    if (home.runner_silence && !over) {
      waits.push_back(wait_for_part(*home.runner_silence, "runner", "RunnerSilent"));
    }
    if (disk_full && !over) {
      waits.push_back(wait_for_part(*disk_full, "disk", "DiskFull"));
    }
    for (const brain::Wait& wait : TRY(writer.brain().explain(job, writer.now()))) {
      waits.push_back(wait_document(*found->second.spec, wait));
    }
  }
  out.set("waits", json::Value::list(std::move(waits)));
  return out.dump();
}

}  // namespace

Result<std::string> key_of(const http::Request& request) {
  std::string key(request.headers.find("idempotency-key").value_or(""));
  if (key.size() > kKeyBytesMax) {
    return Error(Errc::kInvalid, "is longer than " + std::to_string(kKeyBytesMax) + " bytes")
        .with_field("Idempotency-Key");
  }
  if (!json::is_utf8(key)) {
    return Error(Errc::kInvalid, "is not UTF-8 text").with_field("Idempotency-Key");
  }
  return key;
}

Async<JobId> Api::job_of_path(const http::Request& request) {
  const ProjectId wanted = CO_TRY(project_of(request));
  Result<JobId> found = co_await controller_.find_job(request.param("id"));
  const JobId job = CO_TRY(std::move(found));
  Result<ProjectId> project = co_await project_of_job(job);
  if (CO_TRY(std::move(project)) == wanted) co_return job;
  co_return Error(Errc::kNotFound, "there is no job " + job.str() + " in this project")
      .with_field("project")
      .with_value(wanted.str());
}

Async<ProjectId> Api::project_of_job(JobId job) {
  const auto live = controller_.state().jobs.find(job);
  if (live != controller_.state().jobs.end()) co_return live->second.project;
  Result<store::ArchiveEntry> read = co_await controller_.writer().read<store::ArchiveEntry>(
      [&job](store::EventLog& log) { return log.archived(job.str()); });
  const store::ArchiveEntry entry = CO_TRY(std::move(read));
  co_return project_of_sort_key(entry.sort_key);
}

Async<http::Reply> Api::submit(http::Request request) {
  const ProjectId project = CO_TRY(project_of(request));
  if (project != ProjectId("default")) {  // No command would see the job.
    co_return Error(Errc::kUnsupported, "a home has one project")
        .with_field("project")
        .with_value(project.str())
        .with_hint("submit to /api/v1/jobs");
  }
  std::string key = CO_TRY(key_of(request));
  Submission submission = CO_TRY(read_body(request));
  request.body = std::string();
  Result<Answer> taken =
      co_await controller_.submit(std::move(submission), project, std::move(key));
  Answer answer = CO_TRY(std::move(taken));
  if (answer.outcome.refusal) co_return *std::move(answer.outcome.refusal);
  const JobId job = answer.outcome.job;
  if (answer.document.empty()) {  // A repeat of a submission whose job has left the state.
    Result<std::string> archived = co_await document_of(job, JobView::kFull);
    answer.document = CO_TRY(std::move(archived));
  }
  co_return created(answer.document, job, answer.version);
}

// Of a job that an earlier build archived there is its document as it was then.
Async<std::string> Api::document_of(JobId job, JobView view, std::optional<LiveMetrics> metrics) {
  const Time now = controller_.writer().now();
  Result<std::string> made = co_await controller_.about<std::string>(
      job, [view, now, metrics = std::move(metrics)](const brain::Job& known, EventSeq version) {
        const std::string progress =
            metrics ? progress_document(known, *metrics, now) : std::string();
        return Result<std::string>(job_document(known, version, view, progress));
      });
  if (made.ok() || made.error().code != Errc::kGone) co_return made;
  Result<FormerJob> read = co_await controller_.former_job(job);
  FormerJob former = CO_TRY(std::move(read));
  co_return std::move(former.document);
}

// One that ends meanwhile is told as ended.
Async<LiveMetrics> Api::live_metrics(JobId job) {
  LiveMetrics metrics;
  const auto known = controller_.state().jobs.find(job);
  if (known == controller_.state().jobs.end()) co_return metrics;
  for (const auto& [step, task] : live_tasks(known->second)) {
    model::MetricFilter filter;
    filter.job = job;
    filter.step = step;
    filter.task = task;
    filter.series_max = 1;
    filter.bytes_max = kLiveBytesMax;
    Result<model::MetricPage> read = co_await logs_.read_metrics(filter);
    if (!read.ok() || read->series.empty()) continue;
    metrics[{step, task}] = std::move(read->series.front());
  }
  co_return metrics;
}

Async<http::Reply> Api::get_job(http::Request request) {
  CO_TRY(known_only(request, {"include"}));
  const std::string include = text_of(request, "include");
  if (!include.empty() && include != "spec" && include != "progress") {
    co_return Error(Errc::kInvalid, "there is nothing of this name to include")
        .with_field("include")
        .with_value(include)
        .with_hint("ask for spec or progress");
  }
  Result<JobId> found = co_await job_of_path(request);
  const JobId job = CO_TRY(std::move(found));
  if (include == "progress") {  // It changes without the job's version.
    Result<LiveMetrics> live = co_await live_metrics(job);
    Result<std::string> told = co_await document_of(job, JobView::kFull, CO_TRY(std::move(live)));
    co_return http::Response::json_text(CO_TRY(std::move(told)));
  }
  const bool spec = include == "spec";
  Result<std::string> read = co_await document_of(job, spec ? JobView::kWithSpec : JobView::kFull);
  const std::string document = CO_TRY(std::move(read));
  const json::Value parsed = CO_TRY(json::parse(document));
  const json::Value* seq = parsed.find("resource_version");
  CHECK(seq != nullptr, "a job's document without its version");
  const EventSeq version(seq->as_int());
  http::Response response = with_version(http::Response::json_text(document), version);
  if (request.headers.find("if-none-match") == response.headers.find("etag")) {
    response.status = 304;
    response.body.clear();
  }
  co_return response;
}

Async<http::Reply> Api::cancel(http::Request request) {
  return call(std::move(request), Verb::kCancel);
}

Async<http::Reply> Api::halt(http::Request request) {
  return call(std::move(request), Verb::kHalt);
}

Async<http::Reply> Api::resume(http::Request request) {
  return call(std::move(request), Verb::kResume);
}

Async<http::Reply> Api::retry(http::Request request) {
  return call(std::move(request), Verb::kRetry);
}

Async<http::Reply> Api::call(http::Request request, Verb verb) {
  CO_TRY(known_only(request, {}));
  CallBody body = CO_TRY(read_call(request.body));
  JobCall wanted;
  wanted.verb = verb;
  wanted.actor = std::move(body.actor);
  wanted.secrets = std::move(body.secrets);
  wanted.version = CO_TRY(version_of(request));
  Result<JobId> found = co_await job_of_path(request);
  wanted.job = CO_TRY(std::move(found));
  Result<Answer> called = co_await controller_.call(std::move(wanted));
  const Answer answer = CO_TRY(std::move(called));
  if (answer.outcome.refusal) co_return *answer.outcome.refusal;
  co_return with_version(http::Response::json_text(answer.document), answer.version);
}

Async<http::Reply> Api::remove(http::Request request) {
  CO_TRY(known_only(request, {"actor"}));
  JobCall wanted;
  wanted.verb = Verb::kDelete;
  wanted.actor = text_of(request, "actor");
  wanted.version = CO_TRY(version_of(request));
  Result<JobId> found = co_await job_of_path(request);
  wanted.job = CO_TRY(std::move(found));
  const JobId job = wanted.job;
  json::Value deleted = json::Value::object();
  deleted.set("deleted", json::Value::boolean(true));
  deleted.set("id", json::Value::text(job.str()));
  if (!controller_.state().jobs.contains(job)) {
    Result<void> removed = co_await controller_.remove_archived(job);
    CO_TRY(std::move(removed));
    co_return http::Response::json(deleted);
  }
  Result<Answer> called = co_await controller_.call(std::move(wanted));
  const Answer answer = CO_TRY(std::move(called));
  if (answer.outcome.refusal) co_return *answer.outcome.refusal;
  co_return http::Response::json(deleted);
}

Async<http::Reply> Api::explain(http::Request request) {
  CO_TRY(known_only(request, {}));
  Result<JobId> found = co_await job_of_path(request);
  const JobId job = CO_TRY(std::move(found));
  if (!controller_.state().jobs.contains(job)) {  // A finished one waits for nothing.
    Result<std::string> told = co_await controller_.about<std::string>(
        job, [](const brain::Job& known, EventSeq) { return Result(ended_explanation(known)); });
    if (told.ok()) co_return http::Response::json_text(*std::move(told));
  }
  Result<DiskState> asked = co_await disk_state();
  const DiskState disk = CO_TRY(std::move(asked));
  if (disk.silent) co_return http::Response::json_text(disk_explanation(job, *disk.silent));
  Result<std::string> text =
      co_await controller_.answer<std::string>([this, job, disk](const LogWriter& writer) {
        return explanation(writer, job, host_.info(), disk.full);
      });
  co_return http::Response::json_text(CO_TRY(std::move(text)));
}

}  // namespace runnel::control
