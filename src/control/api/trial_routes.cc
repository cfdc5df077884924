#include "control/api/trial_routes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "brain/importance.h"
#include "control/find_step.h"
#include "control/trial_call.h"
#include "control/trial_document.h"
#include "json/writer.h"
#include "search/decimal.h"

namespace runnel::control {
namespace {

using model::TrialCall;

// The step that is meant: the one that is named, or the job's only search.
Result<StepIndex> study_of(const model::JobSpec& spec, const std::string& name) {
  if (!name.empty()) {
    const StepIndex step = TRY(find_step(spec, name));
    if (spec.steps.at(static_cast<std::size_t>(step.value())).search) return step;
    return Error(Errc::kInvalid, "step '" + name + "' is no search and has no trials")
        .with_field("step")
        .with_value(name);
  }
  std::optional<StepIndex> only;
  for (std::size_t at = 0; at < spec.steps.size(); ++at) {
    if (!spec.steps[at].search) continue;
    if (only) {
      return Error(Errc::kInvalid, "the job has several searches")
          .with_field("step")
          .with_hint("name one: step=" + spec.steps[at].name);
    }
    only = StepIndex(static_cast<std::int32_t>(at));
  }
  if (only) return *only;
  return Error(Errc::kNotFound, "job '" + spec.name + "' has no search, and so no trials")
      .with_hint("a study is a step with `search`");
}

Result<TaskIndex> trial_of_path(const http::Request& request) {
  const std::string& text = request.param("trial");
  std::int64_t index = -1;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (failure == std::errc() && rest == text.data() + text.size() && index >= 0) {
    return TaskIndex(index);
  }
  return Error(Errc::kInvalid, "is not the number of a trial").with_field("trial").with_value(text);
}

std::string trials_document(const brain::Job& job, StepIndex step, std::int64_t from,
                            std::int64_t limit) {
  const brain::Step& owner = job.steps.at(static_cast<std::size_t>(step.value()));
  const auto count = static_cast<std::int64_t>(owner.study->trials.size());
  CHECK(limit > 0 && from >= 0, "a page begins and has room");
  const std::int64_t end = std::min(count, from + limit);
  std::string text;
  json::Writer out(text);
  out.begin_object();
  if (end < count) out.field("next_page_token", std::to_string(end));
  write_trials(out.key("trials"), job, step, from, end);
  out.end_object();
  return text;
}

std::string importance_document(const brain::Job& job, StepIndex step) {
  const auto at = static_cast<std::size_t>(step.value());
  std::string text;
  json::Writer out(text);
  out.begin_object().key("importance").begin_list();
  for (const auto& [name, share] :
       brain::importance_of(job.spec->steps[at], *job.steps[at].study)) {
    const double shown = std::round(share * 1e4) / 1e4;
    out.begin_object().field("name", name).key("share").raw(search::shortest(shown)).end_object();
  }
  out.end_list().end_object();
  return text;
}

Error has_ended(const JobId& job) {
  return Error(Errc::kConflict,
               "job " + job.str() + " has ended: nothing more is told of its trials")
      .with_value(job.str())
      .with_hint("runnel study show " + job.str());
}

Result<std::string> one_trial(const brain::Job& job, StepIndex step, TaskIndex trial) {
  const auto& study = job.steps.at(static_cast<std::size_t>(step.value())).study;
  if (trial.value() < static_cast<std::int64_t>(study->trials.size())) {
    return trial_document(job, step, trial);
  }
  return Error(Errc::kNotFound, "nobody has asked for trial " + std::to_string(trial.value()))
      .with_field("trial")
      .with_value(std::to_string(trial.value()))
      .with_hint("list them: runnel study show " + job.id.str());
}

}  // namespace

std::vector<Route> TrialRoutes::table() {
  const auto call = [](std::string_view path, std::string_view summary, std::string_view answer,
                       std::string_view body) {
    return Operation{.method = http::Method::kPost,
                     .path = path,
                     .summary = summary,
                     .answer = answer,
                     .body = body};
  };
  Operation asking = call("/jobs/{id}/trials:ask", "The next trial of a search that is run outside",
                          "Asked", "TrialAsk");
  asking.headers = {"Idempotency-Key"};
  return {
      route(
          {.path = "/jobs/{id}/trials", .summary = "The trials of a search", .answer = "TrialPage"},
          *this, &TrialRoutes::list),
      route({.path = "/jobs/{id}/trials/{trial}",
             .summary = "One trial with its reports",
             .answer = "Trial"},
            *this, &TrialRoutes::get),
      route({.path = "/jobs/{id}/importance",
             .summary = "How much each parameter of a search matters",
             .answer = "Importance"},
            *this, &TrialRoutes::importance),
      route(std::move(asking), *this, &TrialRoutes::ask),
      route(call("/jobs/{id}/trials/{trial}:report", "A value on the way; answers whether to stop",
                 "Trial", "TrialReport"),
            *this, &TrialRoutes::report),
      route(call("/jobs/{id}/trials/{trial}:tell", "What came of a trial", "Trial", "TrialTell"),
            *this, &TrialRoutes::tell),
  };
}

Async<http::Reply> TrialRoutes::view(Ask ask, std::string step, StudyView view) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  co_return http::Response::json_text(CO_TRY(
      co_await controller_.about<std::string>(job, [view, step](const brain::Job& known, EventSeq) {
        const Result<StepIndex> study = study_of(*known.spec, step);
        if (!study.ok()) return Result<std::string>(study.error());
        return view(known, *study);
      })));
}

Async<http::Reply> TrialRoutes::list(Ask ask, TrialListQuery wanted) {
  return view(std::move(ask), std::move(wanted.step),
              [from = wanted.from, limit = wanted.limit](const brain::Job& job, StepIndex step) {
                return trials_document(job, step, from, limit);
              });
}

Async<http::Reply> TrialRoutes::get(Ask ask, StudyQuery wanted) {
  const TaskIndex trial = CO_TRY(trial_of_path(ask.request));
  co_return co_await view(
      std::move(ask), std::move(wanted.step),
      [trial](const brain::Job& job, StepIndex step) { return one_trial(job, step, trial); });
}

Async<http::Reply> TrialRoutes::importance(Ask ask, StudyQuery wanted) {
  return view(std::move(ask), std::move(wanted.step), importance_document);
}

Async<http::Reply> TrialRoutes::ask(Ask ask, StudyQuery wanted) {
  return call(std::move(ask), std::move(wanted.step), TrialCall::Verb::kAsk);
}

Async<http::Reply> TrialRoutes::report(Ask ask, StudyQuery wanted) {
  return call(std::move(ask), std::move(wanted.step), TrialCall::Verb::kReport);
}

Async<http::Reply> TrialRoutes::tell(Ask ask, StudyQuery wanted) {
  return call(std::move(ask), std::move(wanted.step), TrialCall::Verb::kTell);
}

Result<TrialCall> TrialRoutes::read_call(const http::Request& request, const std::string& step_name,
                                         const JobId& id, TrialCall::Verb verb) const {
  const auto job = controller_.state().jobs.find(id);
  if (job == controller_.state().jobs.end()) return has_ended(id);
  const StepIndex step = TRY(study_of(*job->second.spec, step_name));
  const auto& search = *job->second.spec->steps.at(static_cast<std::size_t>(step.value())).search;
  TrialCall call;
  switch (verb) {
    case TrialCall::Verb::kAsk: call = TRY(read_ask(request.body)); break;
    case TrialCall::Verb::kReport: call = TRY(read_report(request.body, search)); break;
    case TrialCall::Verb::kTell: call = TRY(read_tell(request.body, search)); break;
  }
  call.job = id;
  call.step = step;
  if (verb == TrialCall::Verb::kAsk) {
    call.holder = TRY(key_of(request));
    return call;
  }
  call.trial = TRY(trial_of_path(request));
  const auto& trials = job->second.steps.at(static_cast<std::size_t>(step.value())).study->trials;
  const bool known = call.trial.value() < static_cast<std::int64_t>(trials.size());
  if (known && call.attempt == AttemptNumber(0)) {
    call.attempt = brain::attempts_of(job->second.steps.at(static_cast<std::size_t>(step.value())),
                                      call.trial);
  }
  return call;
}

Async<http::Reply> TrialRoutes::call(Ask ask, std::string step, TrialCall::Verb verb) {
  const JobId job = CO_TRY(co_await jobs_.of_path(ask));
  if (verb == TrialCall::Verb::kAsk && !controller_.state().jobs.contains(job)) {
    co_return co_await view(std::move(ask), std::move(step),
                            [](const brain::Job& ended, StepIndex study) {
                              return trial_answer(ended, study, std::nullopt);
                            });
  }
  TrialCall wanted = CO_TRY(read_call(ask.request, step, job, verb));
  wanted.actor = ask.principal.actor;
  Answer answer = CO_TRY(co_await controller_.call_trial(std::move(wanted)));
  if (answer.outcome.refusal) co_return *std::move(answer.outcome.refusal);
  co_return http::Response::json_text(std::move(answer.document));
}

}  // namespace runnel::control
