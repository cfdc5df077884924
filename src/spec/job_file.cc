#include "spec/job_file.h"

#include <utility>

#include "base/check.h"
#include "spec/foreign.h"
#include "spec/hyper_recipe.h"
#include "spec/job_reader.h"
#include "spec/yaml.h"
#include "spec/yaml_writer.h"

namespace runnel::spec {
namespace {

// A file as far as every reader of one goes: its values, or why there are none.
struct Source {
  YamlNodePtr root;  // Null: see `faults`.
  Diagnostics faults;
};

Error empty_file() {
  return Error(Errc::kInvalid, "the file is empty").with_hint("write at least `run: COMMAND`");
}

Source read_source(std::string_view source, const std::string& file) {
  Source read{nullptr, Diagnostics(file, source)};
  if (const auto line = sbatch_line(source)) {
    YamlNode at;
    at.offset = *line;
    read.faults.report({&at, ""}, foreign_error("a Slurm batch script", "`#SBATCH`"));
    return read;
  }
  Result<YamlNodePtr> root = read_yaml(source, file);
  if (!root.ok()) {
    read.faults.keep_placed(std::move(root).error());
  } else if ((*root)->is_null()) {
    read.faults.report({root->get(), ""}, empty_file());
  } else if (const auto foreign = recognise_foreign(**root)) {
    read.faults.report({foreign->at, ""}, foreign_error(foreign->what, foreign->marker));
  } else {
    read.root = *std::move(root);
  }
  return read;
}

// Notes of what the job asks of machines that are not among the nodes.
std::vector<Error> beyond_the_nodes(const YamlNode& job, std::string_view source,
                                    const ParseContext& context) {
  Diagnostics faults(context.file, source);
  return read_job(job, faults, context).errors;
}

void use_recipe_fields(std::vector<Error>& errors) {
  for (Error& error : errors) error.field = recipe_field(error.field);
}

// `translated` gets the recipe as the values of a job file.
JobFileReport read_recipe(const YamlNode& recipe, Diagnostics& faults, std::string_view source,
                          const ParseContext& context, YamlNodePtr& translated) {
  Diagnostics notes(context.file, source);
  translated = job_of_recipe(recipe, faults, notes);
  if (!faults.ok()) return {std::nullopt, faults.take(), {}};
  const YamlNodePtr job = with_flags(translated, context.flags);
  ParseContext reading = context;
  if (context.look_only) reading.nodes.clear();
  JobFileReport report = read_job(*job, faults, reading);
  report.notes = notes.take();
  if (report.spec && context.look_only) {
    std::vector<Error> beyond = beyond_the_nodes(*job, source, context);
    report.notes.insert(report.notes.end(), beyond.begin(), beyond.end());
  }
  use_recipe_fields(report.errors);
  use_recipe_fields(report.notes);
  return report;
}

}  // namespace

JobFileReport parse_job_file_all(std::string_view text, const ParseContext& context) {
  const std::string_view source = without_byte_order_mark(text);
  Source read = read_source(source, context.file);
  if (read.root == nullptr) return {std::nullopt, read.faults.take(), {}};
  YamlNodePtr translated;
  if (is_recipe(*read.root)) {
    return read_recipe(*read.root, read.faults, source, context, translated);
  }
  return read_job(*with_flags(std::move(read.root), context.flags), read.faults, context);
}

Result<model::JobSpec> parse_job_file(std::string_view text, const ParseContext& context) {
  JobFileReport report = parse_job_file_all(text, context);
  if (report.spec) return std::move(*report.spec);
  CHECK(!report.errors.empty(), "a job that was refused has a reason");
  return std::move(report.errors.front());
}

ImportReport import_file(std::string_view text, const ParseContext& context) {
  const std::string_view source = without_byte_order_mark(text);
  Source read = read_source(source, context.file);
  if (read.root == nullptr) return {"", read.faults.take(), {}};
  if (!is_recipe(*read.root)) {
    read.faults.report({read.root.get(), ""},
                       Error(Errc::kInvalid, "this is a job file of Runnel already")
                           .with_hint("run it: runnel run " + context.file));
    return {"", read.faults.take(), {}};
  }
  ParseContext anywhere = context;  // The machines that there are do not change what it says.
  anywhere.nodes.clear();
  YamlNodePtr translated;
  JobFileReport report = read_recipe(*read.root, read.faults, source, anywhere, translated);
  if (!report.spec) return {"", std::move(report.errors), {}};
  return {write_yaml(*translated), {}, std::move(report.notes)};
}

}  // namespace runnel::spec
