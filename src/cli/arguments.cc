#include "cli/arguments.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "agent/device_look.h"
#include "base/nearest.h"
#include "base/shell_word.h"
#include "cli/definition.h"
#include "cli/flag_value.h"
#include "cli/printable.h"
#include "cli/program_start.h"
#include "cli/task_name.h"
#include "control/api/query.h"
#include "env/files.h"
#include "generated/version.h"
#include "spec/job_file.h"

namespace runnel::cli {
namespace {

constexpr std::int64_t kNumberMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLast = std::numeric_limits<std::int32_t>::max();  // For tasks and the like.
constexpr std::int64_t kRowsMax = 1'000'000;

// An option whose text is taken by `take`, a Result<void>(text). Only a check can say in words of
// its own why not, so the check takes it.
template <typename Take>
CLI::Option* parsed_option(CLI::App& app, const std::string& name, const char* help,
                           const Take& take) {
  const auto check = [take](const std::string& text) {
    const Result<void> taken = take(text);
    return taken.ok() ? std::string() : Error(taken.error()).with_field("").to_string();
  };
  const auto nothing_more = [](const std::string&) {};
  return app.add_option_function<std::string>(name, nothing_more, help)->check(check);
}

template <typename Number>
void number_flag(CLI::App& app, const std::string& name, Number& value, Limits limits,
                 const char* help) {
  const auto take = [&value, name, limits](const std::string& text) -> Result<void> {
    value = TRY(parse_number(name, text, limits));
    return {};
  };
  parsed_option(app, name, help, take)->type_name("N");
}

void add_output(CLI::App& app, Arguments& arguments) {
  const auto take = [&arguments](const std::string& text) -> Result<void> {
    arguments.output = TRY(parse_output(text));
    return {};
  };
  parsed_option(app, "-o,--output", "table, wide, tsv, json, yaml or name", take);
}

void add_job_sources(CLI::App& app, Arguments& arguments) {
  // They win over what a file says.
  optional_flag(app, "--cpus", arguments.flags.cpus, "cores");
  optional_flag(app, "--memory", arguments.flags.memory, "as 8GB or 8GiB");
  optional_flag(app, "--gpus", arguments.flags.gpus, "as H100:8");
  app.add_flag("--spot", arguments.flags.spot,
               "may run on spot nodes, which can be taken away, and prefers them");
  optional_flag(app, "--num-nodes", arguments.flags.num_nodes, "number of nodes (of a gang)");
  optional_flag(app, "--procs-per-node", arguments.flags.procs_per_node, "processes per node");
  optional_flag(app, "--max-duration", arguments.flags.max_duration, "time limit, as 2h");
  optional_flag(app, "--grace", arguments.flags.grace, "between TERM and KILL, as 30s");
  optional_flag(app, "--max-log", arguments.flags.max_log, "output kept per attempt, as 1GiB");
  optional_flag(app, "--retries", arguments.flags.retries, "failed attempts that are retried");
  app.add_option("-e,--env", arguments.envs,
                 "K=V, or K for its value in this shell, for the tasks (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--env-file", arguments.env_files, "file of K=V lines")->allow_extra_args(false);
  app.add_flag("--env-all", arguments.env_all,
               "pass on all variables of this shell, where the file says nothing; they are kept in "
               "the home's log, secrets too");
  app.add_option("--secret", arguments.secrets, "NAME of a shell variable handed to the tasks")
      ->allow_extra_args(false);
  optional_flag(app, "-n,--name", arguments.name, "name of the job");
  number_flag(app, "--priority", arguments.priority, {-model::kPriorityMax, model::kPriorityMax},
              "higher goes first");
}

void add_from(CLI::App& app, Arguments& arguments) {
  optional_flag(app, "--from", arguments.from,
                "an earlier study to learn from: its id, or a file of `study export -o json`");
}

void add_run(CLI::App& app, Arguments& arguments) {
  app.add_option("file", arguments.file, "job file, or nothing before -- COMMAND");
  add_job_sources(app, arguments);
  add_from(app, arguments);
  app.add_flag("-d,--detach", arguments.detach, "return at once and leave it running");
  app.add_flag("-q,--quiet", arguments.quiet,
               "say nothing of the job itself: not its id, nor how it ended");
  app.add_flag("--chaos", arguments.chaos,
               "kill a process of each step with `retry` once, to see that the job survives it");
  app.add_flag("--dry-run", arguments.dry_run, "show what would run, start nothing");
}

void add_up(CLI::App& app, Arguments& arguments) {
  app.add_option("-f,--file", arguments.file, "job file; snark.yml without one");
  app.add_option("job-file", arguments.given, "job file, or with -f the job's name");
  add_job_sources(app, arguments);
  add_from(app, arguments);
  app.add_flag("-y,--yes", arguments.yes, "ignored (compatibility)");
  app.add_flag("-d,--detach", arguments.detach, "ignored (compatibility)");
  app.add_flag("--dry-run", arguments.dry_run, "show what would run, start nothing");
}

void add_file(CLI::App& app, Arguments& arguments) {
  app.add_option("-f,--file,file", arguments.file, "job file, with -f or without");
  add_job_sources(app, arguments);
}

void add_job(CLI::App& app, Arguments& arguments) {
  app.add_option("job", arguments.jobs, "job id, or a unique beginning of one")->required();
}

void add_ps(CLI::App& app, Arguments& arguments) {
  app.add_option("job", arguments.jobs, "this job's running tasks and what they use")
      ->expected(0, 1);
  app.add_flag("-a,--all", arguments.all, "also jobs that have ended");
  number_flag(app, "--limit", arguments.limit, {1, kRowsMax}, "rows at most");
  app.add_flag("-w,--watch", arguments.watch, "show again every second");
}

void add_show(CLI::App& app, Arguments& arguments) {
  add_job(app, arguments);
  app.add_flag("--tasks", arguments.tasks, "one row per task");
  optional_flag(app, "--step", arguments.step, "only this step");
  number_flag(app, "--task", arguments.task, {0, kLast}, "one task with all its attempts");
  number_flag(app, "--limit", arguments.limit, {1, kRowsMax}, "rows at most");
  app.add_flag(
         "--spec", arguments.spec,
         "the specification as the service keeps it (no job file), as `plan -o yaml` shows it")
      ->excludes("--tasks")
      ->excludes("--step")
      ->excludes("--task");
}

void add_status(CLI::App& app, Arguments& arguments, const std::string& instead) {
  app.add_flag("--status", arguments.status,
               "exit 100 failed, 101 not finished, 102 not found, 103 cancelled" + instead);
}

void add_logs(CLI::App& app, Arguments& arguments) {
  add_job(app, arguments);
  app.add_flag("-f,--follow", arguments.follow, "follow until the job ends");
  optional_flag(app, "--step", arguments.step, "only this step");
  number_flag(app, "--task", arguments.task, {0, kLast}, "only this task");
  number_flag(app, "--attempt", arguments.attempt, {1, kLast}, "only this attempt");
  number_flag(app, "--rank", arguments.rank, {0, kLast}, "only this rank");
  number_flag(app, "--tail", arguments.tail, {0, control::kTailMax}, "only the last N lines");
  optional_flag(app, "--since", arguments.since, "only what is newer: 10m, or a time");
  add_status(app, arguments, " and print nothing");
}

void add_home_logs(CLI::App& app, Arguments& arguments) {
  app.add_flag("-f,--follow", arguments.follow, "go on with new lines until Ctrl-C");
  number_flag(app, "--tail", arguments.tail, {0, control::kTailMax}, "only the last N lines");
  app.add_option("--level", arguments.level, "info, warning or error: only these and worse ones")
      ->check(CLI::IsMember({"info", "warning", "error"}));
}

void add_metrics(CLI::App& app, Arguments& arguments) {
  app.add_option("job", arguments.jobs, "job id, or a unique beginning of one")
      ->required()
      ->expected(1);
  optional_flag(app, "--step", arguments.step, "only this step");
  optional_flag(app, "--task", arguments.task, "only this task");
  optional_flag(app, "--metric", arguments.metric, "only this metric");
  app.add_flag("--csv", arguments.csv, "task,metric,step,value");
}

void add_study(CLI::App& app, Arguments& arguments) {
  // As one text: a list would take the number of the trial as well.
  const auto take = [&arguments](const std::string& text) { arguments.jobs = {text}; };
  app.add_option_function<std::string>("job", take,
                                       "the study's job: its id, or a unique beginning of one")
      ->required();
  optional_flag(app, "--step", arguments.step, "which search, when the job has several");
}

void add_study_show(CLI::App& app, Arguments& arguments) {
  add_study(app, arguments);
  number_flag(app, "--limit", arguments.limit, {1, kRowsMax}, "rows at most");
}

void add_study_ask(CLI::App& app, Arguments& arguments) {
  add_study(app, arguments);
  optional_flag(app, "--lease", arguments.lease,
                "how long you may be silent before the trial goes to another, as 10m");
}

void add_trial(CLI::App& app, Arguments& arguments) {
  add_study(app, arguments);
  number_flag(app, "trial", arguments.task, {0, kLast}, "the trial's number");
  app.get_option("trial")->required();
  number_flag(app, "--attempt", arguments.attempt, {1, kLast}, "as `ask` answered; the last one");
  app.add_option("--value", arguments.values, "the metric's value (one per objective)")
      ->allow_extra_args(false);
}

void add_study_report(CLI::App& app, Arguments& arguments) {
  add_trial(app, arguments);
  number_flag(app, "--at", arguments.at, {0, kNumberMax}, "the step of the training");
}

void add_study_tell(CLI::App& app, Arguments& arguments) {
  add_trial(app, arguments);
  app.add_option("--state", arguments.state, "complete, pruned or failed");
  optional_flag(app, "--message", arguments.message, "why it failed");
  number_flag(app, "--at", arguments.at, {0, kNumberMax}, "the step of the training");
}

void add_events(CLI::App& app, Arguments& arguments) {
  app.add_option("job", arguments.jobs, "only this job")->expected(0, 1);
  app.add_flag("-w,--watch,-f,--follow", arguments.watch, "follow as they happen");
  number_flag(app, "--after", arguments.after, {0, kNumberMax}, "only events with a larger number");
  number_flag(app, "--limit", arguments.events_max, {1, kNumberMax},
              "events at most; all without it");
}

void add_wait(CLI::App& app, Arguments& arguments) {
  add_job(app, arguments);
  optional_flag(app, "--timeout", arguments.timeout, "give up after, as 10m (exit 124)");
  add_status(app, arguments, "");
}

void add_delete(CLI::App& app, Arguments& arguments) {
  add_job(app, arguments);
  app.add_flag("-y,--yes", arguments.yes, "ignored (compatibility)");
}

void add_preempt(CLI::App& app, Arguments& arguments) {
  app.add_option("node", arguments.node, "the node's name")->required();
  app.add_option("--notice", arguments.notice, "time to save and end, as 30s");
  app.add_option("--away", arguments.away, "how long it is gone then, as 60s");
}

void add_simulate(CLI::App& app, Arguments& arguments) {
  app.add_option("--verify", arguments.verify, "decide a home's log again and compare");
  number_flag(app, "--schedules", arguments.schedules, {1, 1'000'000'000},
              "random schedules to run");
  number_flag(app, "--seed", arguments.seed, {0, kNumberMax}, "run one schedule and tell it");
}

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> kAll = {
      {Command::kRun, "run", {}, "run a job file, or -- COMMAND, now and attached", add_run},
      {Command::kUp,
       "up",
       {"launch", "submit", "apply", "train"},
       "submit a job file, detached",
       add_up},
      {Command::kValidate, "validate", {}, "check a job file; start nothing", add_file},
      {Command::kPlan, "plan", {}, "show what a job file would run", add_file},
      {Command::kImport,
       "import",
       {},
       "print another system's file as a job file",
       [](CLI::App& app, Arguments& arguments) {
         app.add_option("-f,--file,file", arguments.file,
                        "the file, such as a Hyper recipe, with -f or without");
       }},
      {Command::kPrices,
       "prices",
       {},
       "the table of prices in force",
       [](CLI::App&, Arguments&) {}},
      {Command::kNodes, "nodes", {}, "the nodes of the home", [](CLI::App&, Arguments&) {}},
      {Command::kPreempt,
       "preempt",
       {},
       "take a node away for a while, as a cloud does with spot capacity",
       add_preempt},
      {Command::kPs, "ps", {"queue", "squeue"}, "what runs", add_ps},
      {Command::kShow, "show", {"describe", "status"}, "one job in full", add_show},
      {Command::kLogs, "logs", {}, "output of tasks", add_logs},
      {Command::kMetrics, "metrics", {}, "values and curves of metrics", add_metrics},
      {Command::kEvents, "events", {}, "what happened", add_events},
      {Command::kCancel, "cancel", {"scancel", "stop", "down"}, "cancel a job", add_job},
      {Command::kHalt, "halt", {}, "pause a job", add_job},
      {Command::kResume, "resume", {}, "resume a paused job", add_job},
      {Command::kRetry,
       "retry",
       {"requeue"},
       "retry failed tasks of the job as it was submitted; after a change of the job file: runnel "
       "run FILE",
       add_job},
      {Command::kDelete,
       "delete",
       {"rm"},
       "remove ended jobs: record, logs and outputs",
       add_delete},
      {Command::kWait, "wait", {}, "wait for jobs; exit with their code", add_wait},
      {Command::kExplain, "explain", {}, "why a job does not run yet, or how it ended", add_job},
      {Command::kCheck, "check", {}, "check this machine", [](CLI::App&, Arguments&) {}},
      {Command::kHome,
       "home",
       {},
       "paths and processes of the home",
       [](CLI::App& app, Arguments& arguments) {
         app.add_flag("--adopt", arguments.adopt, "make a copied home one of its own");
       }},
      {Command::kFsck,
       "fsck",
       {},
       "verify the home's log",
       [](CLI::App& app, Arguments& arguments) {
         app.add_flag("--repair", arguments.repair, "keep the longest valid part (a copy is made)");
       }},
      {Command::kSimulate,
       "simulate",
       {},
       "run the scheduler against simulated disasters",
       add_simulate},
      {Command::kCompletion,
       "completion",
       {},
       "shell completions",
       [](CLI::App& app, Arguments& arguments) {
         app.add_option("shell", arguments.shell, "bash or zsh")
             ->check(CLI::IsMember({"bash", "zsh"}));
       }},
      {Command::kDaemon, "daemon", {}, "", [](CLI::App&, Arguments&) {}},
      {Command::kRunner, "runner", {}, "", [](CLI::App&, Arguments&) {}},
      {Command::kDevices,
       "devices",
       {},
       "",
       [](CLI::App& app, Arguments& arguments) {
         app.add_flag(std::string(agent::kWithProcesses), arguments.processes);
       }},
  };
  return kAll;
}

const std::vector<Definition>& study_definitions() {
  static const std::vector<Definition> kAll = {
      {Command::kUp, "create", {}, "submit a job file with a search", add_up},
      {Command::kStudyList,
       "list",
       {"ls"},
       "the searches of the newest jobs",
       [](CLI::App& app, Arguments& arguments) {
         number_flag(app, "--limit", arguments.limit, {1, 1'000}, "jobs at most");
       }},
      {Command::kStudyShow,
       "show",
       {},
       "a study's trials, and which parameters matter",
       add_study_show},
      {Command::kStudyBest, "best", {}, "the best trial", add_study},
      {Command::kStudyAsk, "ask", {}, "take the next trial, to be run by you", add_study_ask},
      {Command::kStudyReport, "report", {}, "report an intermediate value", add_study_report},
      {Command::kStudyTell, "tell", {}, "tell a trial's result", add_study_tell},
      {Command::kStudyExport, "export", {}, "all trials as CSV, -o tsv or -o json", add_study},
  };
  return kAll;
}

const std::vector<Definition>& home_definitions() {
  static const std::vector<Definition> kAll = {
      {Command::kHomeLogs, "logs", {}, "how the home's daemon fares: its log lines", add_home_logs},
  };
  return kAll;
}

struct Parser {
  CLI::App app{"Runnel: from raw tables to a trained and evaluated model.", "runnel"};
  Arguments arguments;
  std::map<CLI::App*, Command> commands;

  Parser() {
    app.set_help_flag("-h,--help", "help for any command");
    app.set_version_flag("--version", std::string(kVersion));
    app.require_subcommand(0, 1);
    app.add_option("--home", arguments.home, "home folder (RUNNEL_HOME, else ~/.runnel)");
    app.add_flag("--no-color", arguments.no_colour, "no colours, as with NO_COLOR set");
    app.fallthrough();
    add_group(app, definitions());
    // `runnel job list` and its kind: every noun takes its verbs.
    CLI::App* job = app.add_subcommand("job", "the same verbs, spelled as noun and verb");
    job->require_subcommand(1);
    job->group("");
    add_group(*job, definitions());
    CLI::App* study =
        app.add_subcommand("study", "searches: create, list, show, best, ask, tell, export");
    study->require_subcommand(1);
    add_group(*study, study_definitions());
    add_group(*app.get_subcommand("home"), home_definitions());
    CLI::App* volume = app.add_subcommand(
        "volume", "versions of data: create, put, get, cp, mv, sync, ls, cat, rm, versions");
    volume->require_subcommand(1);
    add_group(*volume, volume_definitions());
  }

  void add_group(CLI::App& parent, const std::vector<Definition>& all) {
    for (const Definition& each : all) {
      CLI::App* command = parent.add_subcommand(each.name, each.help);
      for (const std::string& alias : each.aliases) command->alias(alias);
      if (each.command == Command::kPs) command->alias("list");
      if (*each.help == '\0') command->group("");
      add_output(*command, arguments);
      each.add(*command, arguments);
      commands[command] = each.command;
    }
  }

  const CLI::App* chosen() const {
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    return at;
  }
};

// Splits `run flags -- COMMAND...` so that the command's own flags stay its own.
std::vector<std::string> take_command(int argc, const char* const* argv,
                                      std::vector<std::string>& command) {
  std::vector<std::string> own;
  bool after = false;
  for (int at = 1; at < argc; ++at) {
    if (!after && std::string(argv[at]) == "--") {
      after = true;
      continue;
    }
    (after ? command : own).emplace_back(argv[at]);
  }
  return own;
}

std::string nearest_command(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Definition& each : definitions()) {
    names.emplace_back(each.name);
    names.insert(names.end(), each.aliases.begin(), each.aliases.end());
  }
  return nearest(word, names);
}

// The dashes, which all flags share, would make any two short ones near each other.
std::string nearest_flag(const std::string& typed, const std::vector<std::string>& known) {
  std::vector<std::string_view> bare;
  bare.reserve(known.size());
  for (const std::string& flag : known) bare.push_back(std::string_view(flag).substr(2));
  const std::string near = nearest(std::string_view(typed).substr(2), bare);
  return near.empty() ? near : "--" + near;
}

// The flag of the command that comes nearest to one of the words; "" when all are known or strange.
std::string meant_flag(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  for (const std::string& word : words) {
    const std::string typed = word.substr(0, word.find('='));
    if (!typed.starts_with("--") || std::find(known.begin(), known.end(), typed) != known.end()) {
      continue;
    }
    const std::string near = nearest_flag(typed, known);
    if (!near.empty()) return "there is no " + printable(typed) + "; did you mean " + near + "?";
  }
  return "";
}

// "runnel study show": with all the words before its own.
std::string words_of(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return (parent == nullptr ? "" : words_of(*parent) + " ") + app.get_name();
}

std::string help_of(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? app.help() : app.help(words_of(*parent));
}

// How the first word of a command begins it; empty for what may be a job file.
std::string first_of_command(const std::string& file) {
  std::string program = program_start(file, "");
  if (!program.empty()) return program;
  const bool is_there = env::exists(file) && !env::list_directory(file).ok();
  const bool meant = is_there || file.ends_with(".yaml") || file.ends_with(".yml");
  return meant ? "" : shell_word(file);
}

// The command meant by `run python train.py`, where the first word was taken for a job file.
std::string meant_command(const Parser& parser, const std::vector<std::string>& words) {
  const std::string& file = parser.arguments.file;
  const auto first = std::find(words.begin(), words.end(), file);
  if (words_of(*parser.chosen()) != "runnel run" || file.empty() || first == words.end()) return "";
  const std::string begin = first_of_command(file);
  // It may be the value of a flag that is not ours.
  if (begin.empty() || !meant_flag(*parser.chosen(), {words.begin(), first}).empty()) return "";
  std::string command = " " + begin;
  for (auto word = first + 1; word != words.end(); ++word) command += " " + shell_word(*word);
  return "runnel: a command goes after --: runnel run --" + printable(command) + "\n";
}

// Of a word after `volume`, `study` or `job` that is none of their verbs; "" when there is none.
std::string unknown_verb(const CLI::App& noun, const std::vector<std::string>& words) {
  if (noun.get_require_subcommand_min() == 0) return "";
  const auto at = std::find(words.begin(), words.end(), noun.get_name());
  if (words.end() - at < 2 || at[1].starts_with('-')) return "";
  std::vector<std::string_view> names;
  for (const CLI::App* verb : noun.get_subcommands(nullptr)) {
    names.emplace_back(verb->get_name());
    for (const std::string& alias : verb->get_aliases()) names.emplace_back(alias);
  }
  const std::string near = nearest(at[1], names);
  return "there is no command '" + noun.get_name() + " " + printable(at[1]) + "'" +
         (near.empty() ? "" : "; did you mean '" + noun.get_name() + " " + near + "'?");
}

// The first word that is neither a flag before the command nor the value of one; "" when none is.
std::string first_word(const CLI::App& app, const std::vector<std::string>& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (!word->starts_with('-')) return *word;
    const CLI::Option* const flag = app.get_option_no_throw(*word);
    const bool takes_next = flag != nullptr && flag->get_items_expected_min() > 0;
    if (takes_next && ++word == words.end()) break;
  }
  return "";
}

// `secret list`: CLI11 takes the first word that it knows for the command.
bool is_command(const Parser& parser, const std::string& word) {
  const std::vector<const CLI::App*> known = parser.app.get_subcommands(nullptr);
  return std::any_of(known.begin(), known.end(),
                     [&](const CLI::App* each) { return each->check_name(word); });
}

std::string usage_error(const Parser& parser, const std::vector<std::string>& words,
                        const std::string& what) {
  std::string text = "runnel: " + printable(what);
  const std::string first = first_word(parser.app, words);
  if (!first.empty() && !is_command(parser, first)) {
    text = "runnel: there is no command '" + printable(first) + "'";
    const std::string near = nearest_command(first);
    if (!near.empty()) text += "; did you mean '" + near + "'?";
    return text + "\nrunnel --help lists the commands\n";
  }
  std::string meant = unknown_verb(*parser.chosen(), words);
  if (meant.empty()) meant = meant_flag(*parser.chosen(), words);
  if (!meant.empty()) text = "runnel: " + meant;
  return text + "\nsee `" + words_of(*parser.chosen()) + " --help`\n";
}

// `up FILE`, `up -f FILE`, and Hyper's `up [NAME] [-f FILE]`.
std::string settle_file(Arguments& arguments) {
  if (arguments.command != Command::kUp) return "";
  if (arguments.file.empty()) {
    arguments.file = arguments.given.empty() ? "snark.yml" : arguments.given;
    const bool there = env::exists(arguments.file);
    if (!there && !arguments.given.empty() && env::exists("snark.yml")) {
      arguments.file = "snark.yml";
      if (!arguments.name) arguments.name = arguments.given;
    }
    return there || !arguments.given.empty()
               ? ""
               : "runnel: which job file? There is no snark.yml here\n"
                 "see `runnel up --help`\n";
  }
  if (!arguments.given.empty() && !arguments.name) arguments.name = arguments.given;
  return "";
}

// Either form of the file will do, so that neither of them is required.
std::string require_file(const Arguments& arguments, const std::string& command) {
  const bool reads_one = arguments.command == Command::kValidate ||
                         arguments.command == Command::kPlan ||
                         arguments.command == Command::kImport;
  if (!reads_one || !arguments.file.empty()) return "";
  return "runnel: which file? Name it, as in `" + command + " FILE`\nsee `" + command +
         " --help`\n";
}

bool acts_on_jobs(Command command) {
  return command == Command::kCancel || command == Command::kHalt || command == Command::kResume ||
         command == Command::kRetry || command == Command::kDelete || command == Command::kWait;
}

// What ends or goes on is a job with all its tasks: to do so by the name of one needs to be meant.
std::string refuse_task(const Arguments& arguments, const std::string& command) {
  if (!acts_on_jobs(arguments.command)) return "";
  for (const std::string& word : arguments.jobs) {
    const std::optional<TaskName> name = parse_task_name(word);
    if (!name) continue;
    return "runnel: '" + printable(word) + "' is a task, and `" + command +
           "` takes whole jobs: " + command + " " + printable(name->job) +
           "\nshow, logs, metrics and explain take tasks\n";
  }
  return "";
}

// `logs ID/STEP/TASK`, as `ps ID` names a task. A job is explained whole.
std::string settle_task(Arguments& arguments) {
  if (arguments.command == Command::kExplain) {
    for (std::string& word : arguments.jobs) {
      if (const std::optional<TaskName> name = parse_task_name(word)) word = name->job;
    }
  }
  const bool of_tasks = arguments.command == Command::kLogs ||
                        arguments.command == Command::kShow ||
                        arguments.command == Command::kMetrics;
  if (!of_tasks || arguments.jobs.size() != 1) return "";
  const std::string word = arguments.jobs.front();
  const std::optional<TaskName> name = parse_task_name(word);
  if (!name) return "";
  if (arguments.step || arguments.task || (name->attempt && arguments.attempt)) {
    return "runnel: '" + printable(word) +
           "' says which task; leave out --step, --task and --attempt\n";
  }
  arguments.jobs = {name->job};
  arguments.step = name->step;
  arguments.task = name->task;
  if (name->attempt) arguments.attempt = name->attempt;
  return "";
}

// Whether what a person gets is one table and nothing else.
bool prints_a_table(const Arguments& arguments) {
  switch (arguments.command) {
    case Command::kPs:
    case Command::kNodes:
    case Command::kMetrics:
    case Command::kEvents:
    case Command::kPrices:
    case Command::kCheck:
    case Command::kStudyExport:
    case Command::kStudyList:
    case Command::kVolumeList:
    case Command::kVolumeVersions:
    case Command::kVolumeLs:
    case Command::kStudyShow: return true;
    case Command::kShow: return !arguments.task && (arguments.tasks || arguments.step);
    default: return false;
  }
}

// A program that cuts lines at tabs would get something else without a word.
std::string refuse_tabs(const Arguments& arguments) {
  if (arguments.output != Output::kTsv || prints_a_table(arguments)) return "";
  const char* const instead =
      arguments.command == Command::kShow ? "show --tasks -o tsv, or -o json" : "-o json";
  return std::string("runnel: '-o tsv' is for commands that print a table; use ") + instead + "\n";
}

}  // namespace

Parsed parse_arguments(int argc, const char* const* argv) {
  Parser parser;
  Parsed parsed;
  std::vector<std::string> words = take_command(argc, argv, parser.arguments.flags.command);
  if (words.size() == 1 && words[0] == "help") words[0] = "--help";
  if (words.size() == 1 && (words[0] == "version" || words[0] == "-v")) words[0] = "--version";
  const std::vector<std::string> typed = words;
  std::reverse(words.begin(), words.end());
  try {
    parser.app.parse(words);
  } catch (const CLI::CallForHelp&) {
    parsed.text = help_of(*parser.chosen());
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.text = std::string(kVersion) + "\n";
    return parsed;
  } catch (const CLI::ExtrasError& error) {
    parsed.error = meant_command(parser, typed);
    if (parsed.error.empty()) parsed.error = usage_error(parser, typed, error.what());
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.error = usage_error(parser, typed, error.what());
    return parsed;
  }
  const CLI::App* chosen = parser.chosen();
  auto found = parser.commands.find(const_cast<CLI::App*>(chosen));
  if (found == parser.commands.end()) {
    if (typed.empty()) {
      parsed.text = parser.app.help();
    } else {
      parsed.error = usage_error(parser, typed, "which command?");
    }
    return parsed;
  }
  parser.arguments.command = found->second;
  parsed.error = settle_file(parser.arguments) + require_file(parser.arguments, words_of(*chosen)) +
                 refuse_task(parser.arguments, words_of(*chosen)) + settle_task(parser.arguments) +
                 refuse_tabs(parser.arguments);
  if (!parsed.error.empty()) return parsed;
  parsed.arguments = parser.arguments;
  return parsed;
}

std::string completion_script(const std::string& shell) {
  Parser parser;
  std::string commands;
  std::string cases;
  for (const Definition& each : definitions()) {
    if (*each.help == '\0') continue;
    commands += std::string(commands.empty() ? "" : " ") + each.name;
    std::string flags;
    for (const CLI::Option* option : parser.app.get_subcommand(each.name)->get_options()) {
      for (const std::string& name : option->get_lnames()) flags += " --" + name;
    }
    cases += std::string("    ") + each.name + ") words=\"" + flags.substr(flags.empty() ? 0 : 1) +
             "\" ;;\n";
  }
  const std::string header =
      shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : std::string();
  return header +
         "_runnel() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} words=\"\"\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    words=\"" +
         commands +
         "\"\n"
         "  elif [ \"${current#-}\" != \"$current\" ]; then\n"
         "    case ${COMP_WORDS[1]} in\n" +
         cases +
         "    esac\n"
         "  else\n"
         "    case ${COMP_WORDS[1]} in\n"
         "    run|up|validate|plan) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
         "    *) words=$(runnel ps -a -o name 2>/dev/null) ;;\n"
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -F _runnel runnel\n";
}

}  // namespace runnel::cli
