#include "cli/job_source.h"

#include <map>
#include <set>
#include <utility>

#include "cli/paths.h"
#include "cli/print.h"
#include "cli/shell_environment.h"
#include "env/files.h"
#include "env/machine.h"
#include "env/process.h"
#include "model/variables.h"
#include "spec/job_file.h"
#include "spec/nodes_file.h"
#include "spec/run_flags.h"

namespace runnel::cli {
namespace {

constexpr Bytes kJobFileMax = Bytes::mebi(16);  // spec:: has the real limit and the better message.

Error bad_env(const std::string& text, const std::string& where) {
  return Error(Errc::kInvalid, "'" + text + "' is not of the form NAME=value")
      .with_field(where)
      .with_value(text)
      .with_hint("write NAME=value, or NAME for its value in this shell");
}

Error unset_env(const std::string& name, const std::string& where) {
  return Error(Errc::kInvalid, "the variable " + name + " is not set in this shell")
      .with_field(where)
      .with_value(name)
      .with_hint("export " + name + "=..., or write " + name + "=value");
}

Result<void> add_env(std::map<std::string, std::string>& envs, const std::string& text,
                     const std::string& where) {
  const std::size_t equals = text.find('=');
  if (text.empty() || equals == 0) return bad_env(text, where);
  if (equals == std::string::npos) {  // As docker's -e NAME: the value it has in this shell.
    std::optional<std::string> value = env::variable(text);
    if (!value.has_value()) return unset_env(text, where);
    envs[text] = *std::move(value);
    return {};
  }
  envs[text.substr(0, equals)] = text.substr(equals + 1);
  return {};
}

Result<void> add_env_file(std::map<std::string, std::string>& envs, const std::string& path) {
  const std::string text = TRY(env::read_file(path));
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty() || line[0] == '#') continue;
    TRY(add_env(envs, line, path));
  }
  return {};
}

Result<std::map<std::string, std::string>> given_envs(const Arguments& arguments) {
  std::map<std::string, std::string> envs;
  for (const std::string& path : arguments.env_files) TRY(add_env_file(envs, path));
  for (const std::string& text : arguments.envs) TRY(add_env(envs, text, "--env"));
  return envs;
}

Result<spec::ParseContext> context_of(const Arguments& arguments, const Home& home) {
  spec::ParseContext context;
  context.envs = TRY(given_envs(arguments));
  context.nodes = TRY(nodes_of_home(home));
  context.name = arguments.name;
  context.flags = arguments.flags;
  if (arguments.priority) context.priority = static_cast<std::int32_t>(*arguments.priority);
  for (const std::string& name : arguments.secrets)
    context.secrets.push_back({name, "env:" + name});
  context.workdir = TRY(absolute_path("."));
  if (!arguments.file.empty()) {
    context.file = arguments.file;
    context.workdir = env::parent_of(TRY(absolute_path(arguments.file)));
  }
  return context;
}

Result<spec::JobFileReport> report_of(const Arguments& arguments, const Home& home) {
  const spec::ParseContext context = TRY(context_of(arguments, home));
  if (!arguments.file.empty()) {
    if (!arguments.flags.command.empty()) {
      return Error(Errc::kInvalid, "give either a job file or a command, not both")
          .with_value(arguments.file)
          .with_hint("runnel run " + arguments.file + ", or runnel run -- COMMAND");
    }
    const std::string text = TRY(env::read_file(arguments.file, kJobFileMax));
    return spec::parse_job_file_all(text, context);
  }
  if (arguments.flags.command.empty()) {
    return Error(Errc::kInvalid, "there is nothing to run")
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

// A file that cannot be read is the user's to mend, like one that cannot be understood.
Error as_usage(Error error) {
  if (error.code == Errc::kNotFound || error.code == Errc::kDenied) error.code = Errc::kInvalid;
  return error;
}

}  // namespace

Result<std::vector<model::NodeInfo>> nodes_of_home(const Home& home) {
  if (env::exists(home.nodes_file())) {
    const std::string text = TRY(env::read_file(home.nodes_file()));
    return spec::parse_nodes_file(text, home.nodes_file());
  }
  const env::MachineCapacity machine = TRY(env::machine_capacity());
  model::NodeInfo local;
  local.id = NodeId("local");
  local.capacity.milli_cpus = machine.milli_cpus;
  local.capacity.memory = machine.memory;
  local.colocate = true;
  return std::vector<model::NodeInfo>{local};
}

JobSourceReport read_job_source(const Arguments& arguments, const Home& home) {
  JobSourceReport report;
  Result<spec::JobFileReport> read = report_of(arguments, home);
  if (!read.ok()) {
    report.errors.push_back(as_usage(read.error()));
    return report;
  }
  report.errors = std::move(read->errors);
  if (!read->spec.has_value()) return report;
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
