#include <algorithm>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/cost_text.h"
#include "cli/job_source.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "home/prices.h"
#include "model/codec.h"
#include "search/sampling.h"

namespace runnel::cli {
namespace {

constexpr std::int64_t kShownTasks = 3;

std::string needs_of(const model::JobSpec& spec, const model::StepSpec& step) {
  std::string text;
  for (StepIndex need : step.depends_on) {
    text += (text.empty() ? "" : ",") + spec.steps[static_cast<std::size_t>(need.value())].name;
  }
  return text.empty() ? "-" : text;
}

// A step that is asked for from outside takes no place.
std::string places_of(const model::StepSpec& step) {
  if (step.is_external()) return "-";
  if (step.rank_count() == 1) return "1";
  return std::to_string(step.num_nodes) + "x" + std::to_string(step.procs_per_node);
}

std::string resources_of(const model::StepSpec& step) {
  if (step.is_external()) return "-";
  return step.whole_node ? "a whole node" : step.resources.describe();
}

// "3 parameters"
std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string search_text(const model::StepSpec& step) {
  const model::SearchSpec& search = *step.search;
  std::string text = "  " + step.name + ": ";
  for (const model::Objective& objective : search.objectives) {
    text += (objective.maximize ? "maximize " : "minimize ") + objective.metric + "; ";
  }
  return text + counted(static_cast<std::int64_t>(step.params.size()), "parameter") + "; up to " +
         counted(search.max_trials, "trial") + "\n";
}

std::string first_tasks(const model::JobSpec& spec, std::size_t position) {
  const model::StepSpec& step = spec.steps[position];
  std::string text;
  if (step.search) return search_text(step);
  if (step.params.empty()) return text;
  for (std::int64_t index = 0; index < std::min(kShownTasks, step.task_count); ++index) {
    text += "  " + step.name + " task " + std::to_string(index) + ":";
    const auto params = search::draw(
        step, spec.seed, StepIndex(static_cast<std::int32_t>(position)), TaskIndex(index));
    for (const auto& [name, value] : params) text += " " + printable(name) + "=" + printable(value);
    text += "\n";
  }
  if (step.task_count > kShownTasks) {
    text += "  ... and " + std::to_string(step.task_count - kShownTasks) + " more\n";
  }
  return text;
}

// The cheapest machine to rent for a place, and its price.
std::string cheapest_instance(const model::StepSpec& step,
                              const std::vector<model::InstanceType>& types) {
  if (step.is_external()) return "-";
  const model::InstanceType* type = model::cheapest_for(types, step.resources);
  if (type == nullptr) return "-";
  const bool spot = step.spot && !type->spot_price.is_zero();
  return type->name + " $" + price_text(spot ? type->spot_price : type->price) +
         (spot ? "/h spot" : "/h");
}

// `types` are looked at by the wide form: what the job would cost on rented machines.
std::string plan_text(const model::JobSpec& spec,
                      const std::optional<std::vector<model::InstanceType>>& types) {
  std::vector<std::string> header = {"STEP", "TASKS", "RANKS", "PER NODE", "AFTER", "RETRIES"};
  if (types) header.emplace_back("CHEAPEST INSTANCE");
  Table table(header);
  for (const model::StepSpec& step : spec.steps) {
    std::vector<std::string> row = {step.name,
                                    std::to_string(step.task_count),
                                    places_of(step),
                                    resources_of(step),
                                    needs_of(spec, step),
                                    std::to_string(step.retry.max)};
    if (types) row.push_back(cheapest_instance(step, *types));
    table.add(std::move(row));
  }
  std::string text =
      "job " + printable(spec.name) + " in " + printable(spec.workdir) + "\n" + table_text(table);
  for (std::size_t position = 0; position < spec.steps.size(); ++position) {
    text += first_tasks(spec, position);
  }
  return text;
}

// Without what the shell adds when the job is submitted: it is no part of the file.
std::string spec_document(JobSource source, Output output) {
  source.spec.environment.clear();
  return document(MUST(json::parse(model::encode_text(source.spec))), output);
}

std::string step_names(const model::JobSpec& spec) {
  std::string text;
  for (const model::StepSpec& step : spec.steps) text += step.name + "\n";
  return text;
}

}  // namespace

int validate(const Arguments& arguments, const home::Home& home) {
  JobSourceReport read = read_job_source(arguments, home, Purpose::kLook);
  say_all(read.notes);
  if (!read.source.has_value()) return fail(read.errors);
  if (is_document(arguments.output)) {
    put(spec_document(*std::move(read.source), arguments.output));
  } else {
    say((arguments.file.empty() ? "the command" : arguments.file) + ": valid");
  }
  return 0;
}

int plan(const Arguments& arguments, const home::Home& home) {
  JobSourceReport read = read_job_source(arguments, home, Purpose::kLook);
  say_all(read.notes);
  if (!read.source.has_value()) return fail(read.errors);
  if (is_document(arguments.output)) {
    put(spec_document(*std::move(read.source), arguments.output));
  } else {
    const model::JobSpec& spec = read.source->spec;
    std::optional<std::vector<model::InstanceType>> types;
    if (arguments.output == Output::kWide) {
      Result<std::vector<model::InstanceType>> known = home::instance_types();
      if (!known.ok()) return fail(known.error());
      types = *std::move(known);
    }
    put(arguments.output == Output::kName ? step_names(spec) : plan_text(spec, types));
  }
  return 0;
}

int import_job(const Arguments& arguments, const home::Home& home) {
  const Result<spec::ImportReport> read = read_foreign_file(arguments, home);
  if (!read.ok()) return fail(read.error());
  if (!read->errors.empty()) return fail(read->errors);
  if (is_document(arguments.output)) {
    json::Value answer = json::Value::object();
    answer.set("text", json::Value::text(read->text));
    json::Value::List notes;
    for (const Error& note : read->notes) notes.push_back(json::Value::text(note.to_string()));
    answer.set("not_carried", json::Value::list(std::move(notes)));
    put(document(answer, arguments.output));
    return 0;
  }
  for (const Error& note : read->notes) say("runnel: warning: " + note.to_string());
  put(read->text);
  return 0;
}

}  // namespace runnel::cli
