#include "cli/job_source.h"

#include <set>
#include <string_view>
#include <utility>

#include "cli/earlier_study.h"
#include "cli/given_envs.h"
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
#include "model/device_variables.h"
#include "model/variables.h"
#include "spec/run_flags.h"

namespace runnel::cli {
namespace {

// spec:: has the real limits and the better messages.
constexpr Bytes kJobFileMax = Bytes::mebi(16);

// A user who only looks at a file need not mend another one first.
Result<home::HomeNodes> nodes_to_check(const home::Home& home, Purpose purpose) {
  Result<home::HomeNodes> nodes = home::nodes_of_home(home, TRY(home::device_command(home)));
  if (nodes.ok() || purpose == Purpose::kStart) return nodes;
  say("warning: what the nodes have room for was not checked: " + nodes.error().to_string());
  return home::HomeNodes();
}

Result<spec::ParseContext> context_of(const Arguments& arguments, const home::Home& home,
                                      Purpose purpose) {
  spec::ParseContext context;
  context.envs = TRY(given_envs(arguments.env_files, arguments.envs));
  home::HomeNodes nodes = TRY(nodes_to_check(home, purpose));
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

Result<spec::JobFileReport> report_of(const Arguments& arguments, const home::Home& home,
                                      Purpose purpose) {
  spec::ParseContext context = TRY(context_of(arguments, home, purpose));
  if (!arguments.file.empty()) {
    if (!arguments.flags.command.empty()) {
      return Error(Errc::kInvalid, "give either a job file or a command, not both")
          .with_value(arguments.file)
          .with_hint("runnel run " + arguments.file + ", or runnel run -- COMMAND");
    }
    const std::string text = TRY(home::read_named_file("job file", arguments.file, kJobFileMax));
    spec::JobFileReport report = spec::parse_job_file_all(text, context);
    name_program(report, arguments.file, text);
    return report;
  }
  if (arguments.flags.command.empty()) {
    return Error(Errc::kInvalid, "missing job file or command")
        .with_hint("runnel run job.yaml, or runnel run -- python train.py");
  }
  Result<model::JobSpec> spec = spec::job_from_flags(arguments.flags, context);
  spec::JobFileReport report;
  if (spec.ok()) {
    report.spec = std::move(*spec);
  } else {
    report.errors.push_back(spec.error());
  }
  return report;
}

// The user's value counts; nobody should have to guess why a gang does not meet.
void tell_of_replaced_variables(const model::JobSpec& spec) {
  std::set<std::string> told;
  for (const model::StepSpec& step : spec.steps) {
    for (const std::string& name : model::replaced_variables(step)) {
      if (told.insert(name).second) {
        say("runnel: warning: envs." + name + " takes the place of the value that Runnel gives");
      }
    }
  }
}

// A login prompt or a run without a GPU tells too late.
void tell_of_left_behind(const model::JobSpec& spec, const home::Home& home) {
  std::string names;
  for (const std::string& name : left_behind(env::environment(), spec)) {
    if (model::is_device_variable(name)) {
      say("runnel: warning: " + name +
          " is set in this shell, and a task that asks for no devices sees none; ask for them with "
          "--gpus, as " +
          home.nodes_file() + " declares them, or pass the variable on with -e " + name +
          ": then nothing keeps others off these devices");
    } else {
      names += (names.empty() ? "" : ", ") + name;
    }
  }
  if (names.empty()) return;
  say("runnel: warning: set in this shell, but not passed to tasks: " + names +
      "; pass on with -e NAME, `envs`, --secret NAME, or all with --env-all");
}

}  // namespace

void tell_notes(const std::vector<Error>& notes) {
  for (const Error& note : notes) say("warning: " + note.to_string());
}

Result<spec::ImportReport> read_foreign_file(const Arguments& arguments, const home::Home& home) {
  spec::ParseContext context = TRY(context_of(arguments, home, Purpose::kLook));
  return spec::import_file(TRY(home::read_named_file("job file", arguments.file, kJobFileMax)),
                           context);
}

JobSourceReport read_job_source(const Arguments& arguments, const home::Home& home,
                                Purpose purpose) {
  JobSourceReport report;
  Result<spec::JobFileReport> read = report_of(arguments, home, purpose);
  if (!read.ok()) {
    report.errors.push_back(read.error());
    return report;
  }
  report.errors = std::move(read->errors);
  tell_notes(read->notes);
  if (!read->spec.has_value()) return report;
  if (const auto learnt = learn_from(arguments, home, *read->spec); !learnt.ok()) {
    report.errors.push_back(learnt.error());
    return report;
  }
  if (arguments.env_all) {
    hand_on_all(env::environment(), *read->spec);
    report.errors = model::check_spec(*read->spec);
    if (!report.errors.empty()) return report;
  } else if (purpose == Purpose::kStart) {
    tell_of_left_behind(*read->spec, home);
  }
  read->spec->environment = shell_environment(env::environment());
  auto secrets = shell_secrets(*read->spec, "submit");
  if (secrets.ok()) {
    tell_of_replaced_variables(*read->spec);
    report.source = JobSource{std::move(*read->spec), std::move(*secrets)};
  } else {
    report.errors.push_back(secrets.error());
  }
  return report;
}

}  // namespace runnel::cli
