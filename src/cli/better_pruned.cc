#include "cli/better_pruned.h"

#include <cmath>
#include <cstdlib>
#include <optional>

#include "cli/best_text.h"
#include "cli/members_text.h"
#include "cli/pages.h"
#include "cli/print.h"
#include "cli/target.h"

namespace runnel::cli {
namespace {

constexpr std::int64_t kTrialsRead = 10'000;

// Smaller is better; nothing for a trial without a finite value.
std::optional<double> loss_of(const json::Value& trial, const json::Value& objective) {
  const json::Value* values = trial.find("values");
  const json::Value* value =
      values == nullptr ? nullptr : values->find(text_of(objective, "metric"));
  if (value == nullptr) return std::nullopt;
  const double number = std::strtod(scalar_text(*value).c_str(), nullptr);
  if (!json::is_number(scalar_text(*value)) || !std::isfinite(number)) return std::nullopt;
  return text_of(objective, "mode") == "max" ? -number : number;
}

bool is_best_whole(const json::Value& trial) {
  const json::Value* best = trial.find("best");
  return best != nullptr && best->dump() == "true" && text_of(trial, "status") == "SUCCEEDED";
}

std::optional<double> best_whole(const json::Value& objective, const json::Value::List& trials) {
  for (const json::Value& trial : trials) {
    if (is_best_whole(trial)) return loss_of(trial, objective);
  }
  return std::nullopt;
}

const json::Value* named(const json::Value::List& steps, const std::string& name) {
  for (const json::Value& step : steps) {
    if (text_of(step, "name") == name) return &step;
  }
  return nullptr;
}

bool lacks_max_step(const json::Value& spec) {
  const json::Value* search = spec.find("search");
  const json::Value* pruner = search == nullptr ? nullptr : search->find("pruner");
  return pruner != nullptr && number_of(*pruner, "max_step") == 0;
}

}  // namespace

const json::Value* better_pruned(const json::Value& search, const json::Value::List& trials) {
  if (list_at(search, "objectives").size() != 1) return nullptr;
  const json::Value& objective = list_at(search, "objectives").front();
  std::optional<double> least = best_whole(objective, trials);
  const json::Value* found = nullptr;
  if (!least) return found;
  for (const json::Value& trial : trials) {
    const std::optional<double> loss = loss_of(trial, objective);
    if (text_of(trial, "status") != "PRUNED" || !loss || *loss >= *least) continue;
    least = loss;
    found = &trial;
  }
  return found;
}

std::string better_pruned_line(const json::Value& trial, const json::Value& spec) {
  const json::Value::List& reports = list_at(trial, "reports");
  const std::string when =
      reports.empty() ? "" : " at step " + std::to_string(number_of(reports.back(), "step"));
  const std::string remedy =
      lacks_max_step(spec) ? "; set `max_step` in `pruner` so that trials which have reported "
                             "their last step count as whole"
                           : "";
  return "trial " + std::to_string(number_of(trial, "trial")) + " was PRUNED with " +
         members_text(trial.find("values")) + when + ", better than the best whole trial" + remedy;
}

std::string better_pruned_note(Session& session, const json::Value& job, const std::string& step,
                               const json::Value::List& trials) {
  const json::Value* document = named(list_at(job, "steps"), step);
  const json::Value* search = document == nullptr ? nullptr : document->find("search");
  const json::Value* found = search == nullptr ? nullptr : better_pruned(*search, trials);
  if (found == nullptr) return "";
  const std::string number = std::to_string(number_of(*found, "trial"));
  const Result<json::Value> trial =
      session.get(with_query(job_target(text_of(job, "id"), "/trials/" + number), "step", step));
  const json::Value* spec = job.find("spec");
  const json::Value* own = spec == nullptr ? nullptr : named(list_at(*spec, "steps"), step);
  return better_pruned_line(trial.ok() ? *trial : *found,
                            own == nullptr ? json::Value::object() : *own);
}

std::string better_pruned_note(Session& session, const std::string& job, const json::Value& step) {
  const json::Value* counts = step.find("counts");
  const json::Value* search = step.find("search");
  const bool any = counts != nullptr && number_of(*counts, "PRUNED") > 0;
  if (!any || search == nullptr || !has_one_best(*search)) return "";
  const std::string name = text_of(step, "name");
  const Result<json::Value> document = session.get(job_target(job, "?include=spec"));
  const Result<json::Value> page = read_pages(
      session, with_query(job_target(job, "/trials"), "step", name), "trials", kTrialsRead);
  if (!document.ok() || !page.ok()) return "";
  return better_pruned_note(session, *document, name, list_at(*page, "trials"));
}

}  // namespace runnel::cli
