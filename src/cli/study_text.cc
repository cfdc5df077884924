#include "cli/study_text.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "cli/best_text.h"
#include "cli/csv_field.h"
#include "cli/members_text.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/short_number.h"
#include "search/importance.h"

namespace runnel::cli {
namespace {

// With fewer, the best of all trials are all of them, and no parameter tells them apart.
constexpr std::int64_t kWholeMin = search::kTopMin + 1;

// A line for each parameter.
std::string params_text(const json::Value& owner) {
  const json::Value* params = owner.find("params");
  std::string text;
  if (params == nullptr) return text;
  for (const auto& [name, value] : params->as_object()) {
    text += "  " + printable(name) + " = " + printable(scalar_text(value)) + "\n";
  }
  return text;
}

// The names of the study's and all trials' params or values, in their order.
std::vector<std::string> columns(const json::Value& answer, std::string_view key) {
  std::set<std::string> names;
  if (key == "params") {
    for (const json::Value& name : list_at(answer, "parameters")) names.insert(scalar_text(name));
  } else {
    for (const json::Value& each : list_at(answer, "objectives"))
      names.insert(text_of(each, "metric"));
  }
  for (const json::Value& trial : list_at(answer, "trials")) {
    const json::Value* members = trial.find(key);
    if (members == nullptr || !members->is_object()) continue;
    for (const auto& [name, value] : members->as_object()) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::string cell(const json::Value& trial, std::string_view key, const std::string& name) {
  const json::Value* members = trial.find(key);
  const json::Value* value = members == nullptr ? nullptr : members->find(name);
  return value == nullptr ? "" : scalar_text(*value);
}

// A line of CSV, or of tabs, which no cell holds.
std::string separated(const std::vector<std::string>& cells, Output output) {
  const bool tabs = output == Output::kTsv;
  std::string line;
  for (const std::string& each : cells) {
    if (!line.empty()) line += tabs ? '\t' : ',';
    line += tabs ? printable(each) : csv_field(each);
  }
  return line + "\n";
}

bool is_best(const json::Value& trial) {
  const json::Value* best = trial.find("best");
  return best != nullptr && best->dump() == "true";
}

std::int64_t whole_trials(const json::Value& answer) {
  const auto& trials = list_at(answer, "trials");
  return std::count_if(trials.begin(), trials.end(), [](const json::Value& trial) {
    return text_of(trial, "status") == "SUCCEEDED";
  });
}

std::string importance_line(const json::Value& answer) {
  std::string text;
  for (const json::Value& share : list_at(answer, "importance")) {
    const json::Value* part = share.find("share");
    if (part == nullptr || scalar_text(*part) == "0") continue;
    text += (text.empty() ? "importance: " : ", ") + text_of(share, "name") + " " +
            short_number(scalar_text(*part));
  }
  if (!text.empty()) return text + "\n";
  return whole_trials(answer) < kWholeMin ? "importance: too few trials\n" : "";
}

// "3@20 1@40": from trial 3 at its own step 20, then from trial 1.
std::string moves_text(const json::Value& trial) {
  std::string text;
  for (const json::Value& move : list_at(trial, "moves")) {
    text += (text.empty() ? "" : " ") + std::to_string(number_of(move, "from")) + "@" +
            std::to_string(number_of(move, "step"));
  }
  return text;
}

bool any_moved(const json::Value& answer) {
  const auto& trials = list_at(answer, "trials");
  return std::any_of(trials.begin(), trials.end(),
                     [](const json::Value& trial) { return !moves_text(trial).empty(); });
}

}  // namespace

std::string studies_table(const json::Value& answer, const Arguments& arguments) {
  Table table({"ID", "NAME", "STEP", "STATUS", "TRIALS", "BEST", "VALUES"});
  std::string names;
  for (const json::Value& study : list_at(answer, "studies")) {
    const json::Value* best = study.find("best");
    const bool one = best != nullptr && has_one_best(study);
    names += text_of(study, "id") + "\n";
    table.add({text_of(study, "id"), text_of(study, "name"), text_of(study, "step"),
               text_of(study, "status"),
               std::to_string(number_of(study, "asked")) + "/" +
                   std::to_string(number_of(study, "max_trials")),
               best == nullptr ? "-"
               : one           ? std::to_string(number_of(*best, "trial"))
                               : "a front",
               one ? members_text(best->find("values")) : "-"});
  }
  return arguments.output == Output::kName ? names : table_text(table);
}

std::string trials_table(const json::Value& answer, const Arguments& arguments) {
  const std::vector<std::string> values = columns(answer, "values");
  const std::vector<std::string> params = columns(answer, "params");
  std::vector<std::string> header = {"TRIAL", "STATUS"};
  header.insert(header.end(), values.begin(), values.end());
  header.insert(header.end(), params.begin(), params.end());
  const bool moved = any_moved(answer);
  if (moved) header.emplace_back("WENT ON FROM");
  Table table(header);
  std::int64_t rows = 0;
  for (const json::Value& trial : list_at(answer, "trials")) {
    if (++rows > arguments.limit) break;
    const std::string mark = is_best(trial) ? " (best)" : "";
    std::vector<std::string> row = {std::to_string(number_of(trial, "trial")) + mark,
                                    text_of(trial, "status")};
    for (const std::string& name : values)
      row.push_back(or_dash(short_number(cell(trial, "values", name))));
    for (const std::string& name : params)
      row.push_back(or_dash(short_number(cell(trial, "params", name))));
    if (moved) row.push_back(or_dash(moves_text(trial)));
    table.add(std::move(row));
  }
  const auto count = static_cast<std::int64_t>(list_at(answer, "trials").size());
  if (count > arguments.limit) {
    say("the first " + std::to_string(arguments.limit) + " of " + std::to_string(count) +
        " trials; --limit shows more, `study export` all");
  }
  if (arguments.output == Output::kTsv) return table_text(table);  // Rows, for a program.
  const std::string note = text_of(answer, "note");
  return table_text(table) + importance_line(answer) + (note.empty() ? "" : paragraph(note) + "\n");
}

std::string trials_csv(const json::Value& answer, const Arguments& arguments) {
  const std::vector<std::string> values = columns(answer, "values");
  const std::vector<std::string> params = columns(answer, "params");
  std::vector<std::string> header = {"trial", "status", "attempts", "step"};
  for (const std::string& name : values) header.push_back("value_" + name);
  for (const std::string& name : params) header.push_back("param_" + name);
  std::string text = separated(header, arguments.output);
  for (const json::Value& trial : list_at(answer, "trials")) {
    const json::Value* at = trial.find("value_step");
    std::vector<std::string> row = {
        std::to_string(number_of(trial, "trial")), text_of(trial, "status"),
        std::to_string(number_of(trial, "attempt")), at == nullptr ? "" : scalar_text(*at)};
    for (const std::string& name : values) row.push_back(cell(trial, "values", name));
    for (const std::string& name : params) row.push_back(cell(trial, "params", name));
    text += separated(row, arguments.output);
  }
  return text;
}

std::string best_text(const json::Value& best, const Arguments&) {
  if (const json::Value* leader = best.find(kBestSoFar)) {
    return "best so far " + leader_text(*leader) + "\n" + params_text(*leader);
  }
  return "trial " + std::to_string(number_of(best, "trial")) + ": " +
         members_text(best.find("values")) + "\n" + params_text(best);
}

std::string trial_text(const json::Value& trial, const Arguments& arguments) {
  if (number_of(trial, "trial", -1) < 0) {
    const bool finished = trial.find("finished")->dump() == "true";
    return finished
               ? "no trial is left: the search has ended\n"
               : "no trial is left to ask for: " + std::to_string(number_of(trial, "running")) +
                     " are held and " + std::to_string(number_of(trial, "waiting")) +
                     " wait. One comes back when its asker is silent for its lease, and after "
                     "its second loss waits for up to a minute\n";
  }
  std::string text = "trial " + std::to_string(number_of(trial, "trial")) + ", attempt " +
                     std::to_string(number_of(trial, "attempt"));
  if (arguments.command == Command::kStudyAsk) return text + "\n" + params_text(trial);
  return text + ": " + text_of(trial, "status") + "\n";
}

}  // namespace runnel::cli
