#include "cli/earlier_study.h"

#include <optional>
#include <string>
#include <utility>

#include "cli/pages.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/target.h"
#include "env/files.h"
#include "home/named_file.h"
#include "model/check_spec.h"
#include "search/space.h"

namespace runnel::cli {
namespace {

constexpr Bytes kStudyFileMax = Bytes::mebi(64);

// A number or a text; nothing for what is neither.
std::optional<std::string> word_of(const json::Value* value) {
  if (value == nullptr) return std::nullopt;
  const bool number = value->is_int() || value->kind() == json::Value::Kind::kDecimal;
  if (!number && !value->is_text()) return std::nullopt;
  return scalar_text(*value);
}

// In the order of the specification's parameters; nothing when they are not possible.
std::optional<search::Texts> params_of(const json::Value& trial, const model::StepSpec& step,
                                       const search::Space& space) {
  const json::Value* params = trial.find("params");
  if (params == nullptr || !params->is_object()) return std::nullopt;
  search::Texts texts;
  for (const model::Parameter& parameter : step.params) {
    if (auto text = word_of(params->find(parameter.name)))
      texts.emplace_back(parameter.name, *text);
  }
  if (texts.size() != params->as_object().size() || !space.point(texts).ok()) return std::nullopt;
  return texts;
}

std::optional<std::vector<std::string>> values_of(const json::Value& trial,
                                                  const model::SearchSpec& search) {
  const json::Value* values = trial.find("values");
  if (values == nullptr || !values->is_object()) return std::nullopt;
  std::vector<std::string> found;
  for (const model::Objective& objective : search.objectives) {
    const json::Value* value = values->find(objective.metric);
    const auto text = word_of(value);
    if (!text || value->is_text()) return std::nullopt;  // "nan" teaches nothing.
    found.push_back(*text);
  }
  return found;
}

Error no_study(std::string what) {
  return Error(Errc::kInvalid, std::move(what))
      .with_field("--from")
      .with_hint("give the id of a study, or a file made by: runnel study export ID -o json");
}

// The job's only search.
Result<model::StepSpec*> search_of(model::JobSpec& spec) {
  model::StepSpec* only = nullptr;
  for (model::StepSpec& step : spec.steps) {
    if (!step.search) continue;
    if (only != nullptr) {
      return Error(Errc::kInvalid, "the job has several searches, and --from does not say which")
          .with_field("--from")
          .with_hint("write the trials into `search.from` of the one that is meant");
    }
    only = &step;
  }
  if (only != nullptr) return only;
  return Error(Errc::kInvalid, "the job has no search that could learn")
      .with_field("--from")
      .with_hint("a study is a step with `search`");
}

Result<json::Value> trials_of_job(const std::string& id, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  TRY(session.connect());
  return read_pages(session, job_target(id, "/trials"), "trials", kAllRows);
}

Result<json::Value> document_at(const std::string& from, const home::Home& home) {
  if (!env::exists(from)) return trials_of_job(from, home);
  const std::string text = TRY(home::read_named_file("--from", from, kStudyFileMax));
  Result<json::Value> document = json::parse(text);
  if (document.ok()) return document;
  return no_study("'" + from + "' is not JSON: " + document.error().message);
}

}  // namespace

Result<EarlierStudy> earlier_study(const json::Value& document, const model::StepSpec& step) {
  const json::Value* trials = document.is_object() ? document.find("trials") : nullptr;
  if (trials == nullptr || !trials->is_list()) return no_study("there is no list `trials` in it");
  const search::Space space(step.params);
  EarlierStudy study;
  for (const json::Value& trial : trials->as_list()) {
    auto params = trial.is_object() && text_of(trial, "status") == "SUCCEEDED"
                      ? params_of(trial, step, space)
                      : std::nullopt;
    auto values = params ? values_of(trial, *step.search) : std::nullopt;
    const bool room = study.trials.size() < model::kEarlierTrialsMax;
    if (values && room) {
      study.trials.push_back({*std::move(params), *std::move(values)});
    } else {
      ++study.passed_over;
    }
  }
  return study;
}

Result<std::string> learn_from(const std::string& from, const home::Home& home,
                               model::JobSpec& spec) {
  model::StepSpec* const step = TRY(search_of(spec));
  EarlierStudy study = TRY(earlier_study(TRY(document_at(from, home)), *step));
  const std::size_t learnt = study.trials.size();
  for (model::EarlierTrial& trial : study.trials) step->search->from.push_back(std::move(trial));
  TRY(model::check_stored(spec));
  std::string line = "learns from " + std::to_string(learnt) + " earlier trials";
  if (study.passed_over == 0) return line;
  return line + "; " + std::to_string(study.passed_over) +
         " were pruned or failed, or do not fit here";
}

}  // namespace runnel::cli
