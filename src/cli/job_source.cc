#include "cli/job_source.h"

#include <string_view>
#include <utility>

#include "cli/earlier_study.h"
#include "cli/given_envs.h"
#include "cli/job_warnings.h"
#include "cli/pinned_volumes.h"
#include "cli/print.h"
#include "cli/program_start.h"
#include "cli/shell_environment.h"
#include "env/files.h"
#include "env/process.h"
#include "home/local_devices.h"
#include "home/named_file.h"
#include "home/nodes_file.h"
#include "home/paths.h"
#include "model/check_spec.h"
#include "spec/run_flags.h"

namespace runnel::cli {
namespace {

// spec:: has the real limits and the better messages.
constexpr Bytes kJobFileMax = Bytes::mebi(16);

using Notes = std::vector<std::string>;

void warn(Notes& notes, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) notes.push_back("runnel: warning: " + warning);
}

// A user who only looks at a file need not mend another one first.
Result<home::HomeNodes> nodes_to_check(const home::Home& home, Purpose purpose, Notes& notes) {
  Result<home::HomeNodes> nodes = home::nodes_of_home(home, TRY(home::device_command(home)));
  if (nodes.ok() || purpose == Purpose::kStart) return nodes;
  warn(notes, {"what the nodes have room for was not checked: " + nodes.error().to_string()});
  return home::HomeNodes();
}

Result<spec::ParseContext> context_of(const Arguments& arguments, const home::Home& home,
                                      Purpose purpose, Notes& notes) {
  spec::ParseContext context;
  context.envs = TRY(given_envs(arguments.env_files, arguments.envs));
  home::HomeNodes nodes = TRY(nodes_to_check(home, purpose, notes));
  context.nodes = std::move(nodes.nodes);
  if (nodes.failed_look) context.devices_unknown = std::move(nodes.failed_look->why);
  context.nodes_file = home.nodes_file();
  context.look_only = purpose == Purpose::kLook;
  context.name = arguments.name;
  context.flags = arguments.flags;
  if (arguments.priority) context.priority = static_cast<std::int32_t>(*arguments.priority);
  for (const std::string& name : arguments.secrets)
    context.secrets.push_back({name, "env:" + name});
  context.workdir = TRY(home::absolute_path("."));
  if (!arguments.file.empty()) {
    context.file = arguments.file;
    context.workdir = env::parent_of(TRY(home::absolute_path(arguments.file)));
  }
  return context;
}

Result<std::string> text_of_file(const std::string& file) {
  return home::read_named_file("job file", file, kJobFileMax);
}

// A program that was given as the job file gets the command that was meant. Other systems' scripts
// are known as such.
void name_program(spec::JobFileReport& report, const std::string& file, std::string_view text) {
  if (report.errors.empty() || report.errors.front().code == Errc::kUnsupported) return;
  const std::string start = program_start(file, text);
  if (start.empty()) return;
  report.errors = {Error(Errc::kInvalid, "'" + file + "' is a program and no job file")
                       .with_value(file)
                       .with_hint("runnel run -- " + start)};
}

Result<spec::JobFileReport> job_of_file(const spec::ParseContext& context) {
  if (!context.flags.command.empty()) {
    return Error(Errc::kInvalid, "give either a job file or a command, not both")
        .with_value(context.file)
        .with_hint("runnel run " + context.file + ", or runnel run -- COMMAND");
  }
  const std::string text = TRY(text_of_file(context.file));
  spec::JobFileReport report = spec::parse_job_file_all(text, context);
  name_program(report, context.file, text);
  return report;
}

Result<spec::JobFileReport> job_of_command(const spec::ParseContext& context) {
  if (context.flags.command.empty()) {
    return Error(Errc::kInvalid, "missing job file or command")
        .with_hint("runnel run job.yaml, or runnel run -- python train.py");
  }
  spec::JobFileReport report;
  report.spec = TRY(spec::job_from_flags(context.flags, context));
  return report;
}

// Adds what the shell and an earlier study give to the job. Without errors it is whole.
std::vector<Error> complete(JobSource& job, const Arguments& arguments, const home::Home& home,
                            Purpose purpose, Notes& notes) {
  if (arguments.from) {
    Result<std::string> learnt = learn_from(*arguments.from, home, job.spec);
    if (!learnt.ok()) return {learnt.error()};
    notes.push_back(*std::move(learnt));
  }
  if (arguments.env_all) {
    hand_on_all(env::environment(), job.spec);
    std::vector<Error> faults = model::check_spec(job.spec);
    if (!faults.empty()) return faults;
  }
  if (purpose == Purpose::kStart) {
    Result<Notes> pinned = pin_volumes(home, job.spec);
    if (!pinned.ok()) return {pinned.error()};
    notes.insert(notes.end(), pinned->begin(), pinned->end());
  }
  job.spec.environment = shell_environment(env::environment());
  Result<ShellSecrets> secrets = shell_secrets(job.spec, "submit");
  if (!secrets.ok()) return {secrets.error()};
  job.secrets = *std::move(secrets);
  return {};
}

Result<JobSourceReport> report_of(const Arguments& arguments, const home::Home& home,
                                  Purpose purpose, Notes& notes) {
  const spec::ParseContext context = TRY(context_of(arguments, home, purpose, notes));
  spec::JobFileReport read =
      TRY(arguments.file.empty() ? job_of_command(context) : job_of_file(context));
  for (const Error& note : read.notes) warn(notes, {note.to_string()});
  JobSourceReport report{.errors = std::move(read.errors), .notes = {}, .source = {}};
  if (!read.spec) return report;
  JobSource job{*std::move(read.spec), {}};
  report.errors = complete(job, arguments, home, purpose, notes);
  if (purpose == Purpose::kStart && !arguments.env_all) {
    warn(notes, left_behind_warnings(job.spec, env::environment(), home.nodes_file()));
  }
  if (purpose == Purpose::kStart) warn(notes, unused_device_warnings(job.spec, context.nodes));
  warn(notes, replaced_variable_warnings(job.spec));
  warn(notes, shell_parameter_warnings(job.spec));
  if (report.errors.empty()) report.source = std::move(job);
  return report;
}

}  // namespace

Result<spec::ImportReport> read_foreign_file(const Arguments& arguments, const home::Home& home) {
  Notes notes;
  const spec::ParseContext context = TRY(context_of(arguments, home, Purpose::kLook, notes));
  say_all(notes);
  return spec::import_file(TRY(text_of_file(arguments.file)), context);
}

JobSourceReport read_job_source(const Arguments& arguments, const home::Home& home,
                                Purpose purpose) {
  Notes notes;
  Result<JobSourceReport> read = report_of(arguments, home, purpose, notes);
  JobSourceReport report;
  if (read.ok()) {
    report = *std::move(read);
  } else {
    report.errors.push_back(read.error());
  }
  report.notes = std::move(notes);
  return report;
}

}  // namespace runnel::cli
