#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "cli/better_pruned.h"
#include "cli/commands.h"
#include "cli/pages.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/study_text.h"
#include "cli/target.h"
#include "json/value.h"

namespace runnel::cli {
namespace {

using Call = Result<json::Value> (*)(Session&, const Arguments&);
using Render = std::string (*)(const json::Value&, const Arguments&);

std::string study_target(const Arguments& arguments, const std::string& rest) {
  CHECK(arguments.jobs.size() == 1, "a study's command names one job");
  std::string target = job_target(arguments.jobs.front(), rest);
  return arguments.step ? with_query(std::move(target), "step", *arguments.step) : target;
}

std::string trial_target(const Arguments& arguments, const std::string& verb) {
  return study_target(arguments, "/trials/" + std::to_string(arguments.task.value_or(0)) + verb);
}

// One command: what it asks, and how a person reads the answer.
int answer(const Arguments& arguments, const home::Home& home, Call call, Render render) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  const Result<json::Value> got = call(session, arguments);
  if (!got.ok()) return fail(got.error());
  put(is_document(arguments.output) ? document(*got, arguments.output) : render(*got, arguments));
  return 0;
}

bool is_search(const json::Value& step) { return step.find("search") != nullptr; }

// A row per search of each job; a job's searches stand in its own document.
json::Value study_row(const json::Value& job, const json::Value& step) {
  json::Value study = *step.find("search");
  study.set("id", json::Value::text(text_of(job, "id")));
  study.set("max_trials", json::Value::integer(number_of(step, "tasks")));
  if (const json::Value* name = job.find("name")) study.set("name", *name);
  if (const json::Value* status = step.find("status")) study.set("status", *status);
  if (const json::Value* name = step.find("name")) study.set("step", *name);
  return study;
}

Result<json::Value> studies(Session& session, const Arguments& arguments) {
  const json::Value jobs =
      TRY(read_pages(session, "/api/v1/jobs?kind=study", "jobs", arguments.limit));
  json::Value::List found;
  for (const json::Value& job : list_at(jobs, "jobs")) {
    for (const json::Value& step : list_at(job, "steps")) {
      if (is_search(step)) found.push_back(study_row(job, step));
    }
  }
  return json::Value::object({{"studies", json::Value::list(std::move(found))}});
}

// The step that is meant: the one that is named, or the job's only search.
Result<const json::Value*> search_of(const json::Value& job, const Arguments& arguments) {
  const json::Value* only = nullptr;
  for (const json::Value& step : list_at(job, "steps")) {
    if (!is_search(step) || (arguments.step && *arguments.step != text_of(step, "name"))) continue;
    if (only != nullptr) {
      return Error(Errc::kInvalid, "the job has several searches")
          .with_field("--step")
          .with_hint("name one: --step " + text_of(step, "name"));
    }
    only = &step;
  }
  if (only != nullptr) return only;
  return Error(Errc::kNotFound, "job " + text_of(job, "id") + " has no such search")
      .with_hint("list them: runnel study list");
}

// Shares are all 0 while nothing can be said of them, which does not mean that nothing matters.
json::Value::List known_shares(const json::Value& answer) {
  const json::Value::List& shares = list_at(answer, "importance");
  const bool known = std::any_of(shares.begin(), shares.end(), [](const json::Value& share) {
    const json::Value* part = share.find("share");
    return part != nullptr && scalar_text(*part) != "0";
  });
  return known ? shares : json::Value::List();
}

json::Value::List parameters_of(const json::Value& job, const std::string& step) {
  json::Value::List names;
  const json::Value* spec = job.find("spec");
  if (spec == nullptr) return names;
  for (const json::Value& each : list_at(*spec, "steps")) {
    if (text_of(each, "name") != step) continue;
    for (const json::Value& parameter : list_at(each, "params"))
      names.push_back(json::Value::text(text_of(parameter, "name")));
  }
  return names;
}

// With what all trials have in common, whatever came of them: `job` is their job, with its spec.
Result<json::Value> trials_of(Session& session, const Arguments& arguments,
                              const json::Value& job) {
  json::Value out =
      TRY(read_pages(session, study_target(arguments, "/trials"), "trials", kAllRows));
  const json::Value shares = TRY(session.get(study_target(arguments, "/importance")));
  out.set("importance", json::Value::list(known_shares(shares)));
  const json::Value& step = *TRY(search_of(job, arguments));
  out.set("objectives", json::Value::list(list_at(*step.find("search"), "objectives")));
  out.set("parameters", json::Value::list(parameters_of(job, text_of(step, "name"))));
  return out;
}

Result<json::Value> with_spec(Session& session, const Arguments& arguments) {
  return session.get(job_target(arguments.jobs.front(), "?include=spec"));
}

Result<json::Value> all_trials(Session& session, const Arguments& arguments) {
  return trials_of(session, arguments, TRY(with_spec(session, arguments)));
}

// For a person with what the rows do not show by themselves.
Result<json::Value> shown_trials(Session& session, const Arguments& arguments) {
  const json::Value job = TRY(with_spec(session, arguments));
  json::Value out = TRY(trials_of(session, arguments, job));
  if (is_document(arguments.output)) return out;
  const std::string step = text_of(*TRY(search_of(job, arguments)), "name");
  const std::string note = better_pruned_note(session, job, step, list_at(out, "trials"));
  if (!note.empty()) out.set("note", json::Value::text(note));
  return out;
}

// A number that was typed or suggested is one, as in the documents of trials.
json::Value typed_value(const std::string& text) {
  return json::is_number(text) ? json::Value::decimal(text) : json::Value::text(text);
}

// The job's own document has all parameters as texts.
json::Value with_typed_params(json::Value trial) {
  json::Value params = json::Value::object();
  for (const auto& [name, value] : trial.find("params")->as_object()) {
    params.set(name, typed_value(value.as_text()));
  }
  trial.set("params", std::move(params));
  return trial;
}

Result<json::Value> best_trial(Session& session, const Arguments& arguments) {
  const json::Value job = TRY(session.get(job_target(arguments.jobs.front(), "")));
  const json::Value& search = *TRY(search_of(job, arguments))->find("search");
  if (const json::Value* best = search.find("best")) return with_typed_params(*best);
  // Under its own name: nobody should take for the result what may yet change.
  if (const json::Value* leader = search.find(kBestSoFar)) {
    return json::Value::object({{std::string(kBestSoFar), with_typed_params(*leader)}});
  }
  return Error(Errc::kNotFound, "no trial has given a value yet")
      .with_hint("runnel study show " + text_of(job, "id"));
}

Result<json::Value> ask(Session& session, const Arguments& arguments) {
  json::Value body = json::Value::object();
  if (arguments.lease) body.set("lease", json::Value::text(*arguments.lease));
  return session.post(study_target(arguments, "/trials:ask"), body.dump());
}

json::Value told(const Arguments& arguments) {
  json::Value body = json::Value::object();
  if (arguments.attempt) body.set("attempt", json::Value::integer(*arguments.attempt));
  if (!arguments.values.empty()) {
    json::Value::List values;
    for (const std::string& value : arguments.values) values.push_back(typed_value(value));
    body.set("values", json::Value::list(std::move(values)));
  }
  return body;
}

Result<json::Value> report(Session& session, const Arguments& arguments) {
  json::Value body = told(arguments);
  body.set("step", json::Value::integer(arguments.at));
  return session.post(trial_target(arguments, ":report"), body.dump());
}

Result<json::Value> tell(Session& session, const Arguments& arguments) {
  json::Value body = told(arguments);
  if (arguments.message) body.set("message", json::Value::text(*arguments.message));
  body.set("step", json::Value::integer(arguments.at));
  body.set("state", json::Value::text(arguments.state));
  return session.post(trial_target(arguments, ":tell"), body.dump());
}

}  // namespace

int study(const Arguments& arguments, const home::Home& home) {
  switch (arguments.command) {
    case Command::kStudyShow: return answer(arguments, home, shown_trials, trials_table);
    case Command::kStudyExport: return answer(arguments, home, all_trials, trials_csv);
    case Command::kStudyBest: return answer(arguments, home, best_trial, best_text);
    case Command::kStudyAsk: return answer(arguments, home, ask, trial_text);
    case Command::kStudyReport: return answer(arguments, home, report, trial_text);
    case Command::kStudyTell: return answer(arguments, home, tell, trial_text);
    default: return answer(arguments, home, studies, studies_table);
  }
}

}  // namespace runnel::cli
