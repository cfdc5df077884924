#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "cli/commands.h"
#include "cli/csv_field.h"
#include "cli/pages.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/short_number.h"
#include "cli/sparkline.h"
#include "cli/target.h"
#include "http/message.h"

namespace runnel::cli {
namespace {

// One metric of one task.
struct Curve {
  std::string task;
  std::string metric;
  std::vector<std::int64_t> steps;
  std::vector<std::string> values;
};

double number_of_text(const std::string& text) {
  double value = std::nan("");
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The least and the greatest of those that are numbers; the last one where none is.
std::pair<std::string, std::string> extremes(const std::vector<std::string>& values) {
  CHECK(!values.empty(), "a curve has a value");
  std::vector<std::string> numbers;
  std::copy_if(values.begin(), values.end(), std::back_inserter(numbers),
               [](const std::string& text) { return !std::isnan(number_of_text(text)); });
  if (numbers.empty()) return {values.back(), values.back()};
  const auto by_number = [](const std::string& a, const std::string& b) {
    return number_of_text(a) < number_of_text(b);
  };
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end(), by_number);
  return {*least, *most};
}

void add_curves(const json::Value& series, std::vector<Curve>& curves) {
  const std::string task =
      text_of(series, "step") + "/" + std::to_string(number_of(series, "task"));
  std::map<std::string, Curve> by_metric;
  for (const json::Value& sample : list_at(series, "samples")) {
    const json::Value* values = sample.find("values");
    if (values == nullptr || !values->is_object()) continue;
    for (const auto& [metric, value] : values->as_object()) {
      Curve& curve = by_metric.try_emplace(metric, Curve{task, metric, {}, {}}).first->second;
      curve.steps.push_back(number_of(sample, "step"));
      curve.values.push_back(scalar_text(value));
    }
  }
  for (auto& [metric, curve] : by_metric) curves.push_back(std::move(curve));
}

// A misspelt name would give an empty table.
Result<void> keep_metric(std::vector<Curve>& curves, const std::string& metric) {
  std::set<std::string> reported;
  for (const Curve& curve : curves) reported.insert(curve.metric);
  if (!reported.empty() && !reported.contains(metric)) {
    std::string names;
    for (const std::string& name : reported) names += (names.empty() ? "" : ", ") + name;
    return Error(Errc::kNotFound, "no task has reported this metric")
        .with_field("--metric")
        .with_value(metric)
        .with_hint("reported are " + names);
  }
  std::erase_if(curves, [&](const Curve& curve) { return curve.metric != metric; });
  return {};
}

std::string table_of(const std::vector<Curve>& curves) {
  Table table({"TASK", "METRIC", "REPORTS", "STEP", "LAST", "MIN", "MAX", "CURVE"});
  for (const Curve& curve : curves) {
    std::vector<double> numbers;
    numbers.reserve(curve.values.size());
    for (const std::string& value : curve.values) numbers.push_back(number_of_text(value));
    const auto [least, most] = extremes(curve.values);
    table.add({curve.task, curve.metric, std::to_string(curve.values.size()),
               std::to_string(curve.steps.back()), short_number(curve.values.back()),
               short_number(least), short_number(most), sparkline(numbers)});
  }
  return table_text(table);
}

std::string csv_of(const std::vector<Curve>& curves) {
  std::string text = "task,metric,step,value\n";
  for (const Curve& curve : curves) {
    for (std::size_t i = 0; i < curve.values.size(); ++i) {
      text += csv_field(curve.task) + "," + csv_field(curve.metric) + "," +
              std::to_string(curve.steps[i]) + "," + curve.values[i] + "\n";
    }
  }
  return text;
}

void warn_of(const json::Value& series, const char* count, const std::string& what) {
  const std::int64_t bad = number_of(series, count);
  if (bad == 0) return;
  say(text_of(series, "step") + "/" + std::to_string(number_of(series, "task")) + ": " +
      std::to_string(bad) + what);
}

void warn_of_bad(const json::Value& series) {
  warn_of(
      series, "bad_lines",
      " line(s) of its metrics file are no JSON object of numbers with a whole step, or too long");
  warn_of(series, "bad_records", " record(s) of its TensorBoard files are damaged");
  const json::Value* truncated = series.find("truncated");
  if (truncated == nullptr || !truncated->as_bool()) return;
  say(text_of(series, "step") + "/" + std::to_string(number_of(series, "task")) +
      ": it reported more than is read at once: these are samples from all over it; all is in the "
      "task's own files ($RUNNEL_TASK_DIR)");
}

std::string metrics_target(const Arguments& arguments) {
  std::string target = job_target(arguments.jobs.front(), "/metrics");
  if (arguments.step) target = with_query(std::move(target), "step", *arguments.step);
  if (!arguments.task) return target;
  return with_query(std::move(target), "task", std::to_string(*arguments.task));
}

}  // namespace

int metrics(const Arguments& arguments, const home::Home& home) {
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  const Result<json::Value> answer =
      read_pages(session, metrics_target(arguments), "series", kAllRows);
  if (!answer.ok()) return fail(answer.error());
  if (is_document(arguments.output)) {
    put(document(*answer, arguments.output));
    return 0;
  }
  std::vector<Curve> curves;
  for (const json::Value& each : list_at(*answer, "series")) {
    warn_of_bad(each);
    add_curves(each, curves);
  }
  if (arguments.metric) {
    if (auto kept = keep_metric(curves, *arguments.metric); !kept.ok()) return fail(kept.error());
  }
  put(arguments.csv ? csv_of(curves) : table_of(curves));
  return 0;
}

}  // namespace runnel::cli
