#include "spec/job_file.h"

#include "base/check.h"
#include "spec/foreign.h"
#include "spec/job_reader.h"
#include "spec/yaml.h"

namespace runnel::spec {
namespace {

JobFileReport refused(Error error) { return {std::nullopt, {std::move(error)}}; }

}  // namespace

JobFileReport parse_job_file_all(std::string_view text, const ParseContext& context) {
  const std::string_view source = without_byte_order_mark(text);
  if (const auto line = sbatch_line(source)) {
    Error error = foreign_error("a Slurm batch script", "`#SBATCH`");
    return refused(error.at(position_at(source, *line, context.file)));
  }
  Result<YamlNodePtr> root = read_yaml(source, context.file);
  if (!root.ok()) return refused(std::move(root).error());
  Diagnostics faults(context.file, source);
  if ((*root)->is_null()) {
    faults.report(
        {root->get(), ""},
        Error(Errc::kInvalid, "the file is empty").with_hint("write at least `run: COMMAND`"));
    return {std::nullopt, faults.take()};
  }
  if (const auto foreign = recognise_foreign(**root)) {
    faults.report({foreign->at, ""}, foreign_error(foreign->what, foreign->marker));
    return {std::nullopt, faults.take()};
  }
  return read_job(*with_flags(*std::move(root), context.flags), faults, context);
}

Result<model::JobSpec> parse_job_file(std::string_view text, const ParseContext& context) {
  JobFileReport report = parse_job_file_all(text, context);
  if (report.spec) return std::move(*report.spec);
  CHECK(!report.errors.empty(), "a job that was refused has a reason");
  return std::move(report.errors.front());
}

}  // namespace runnel::spec
