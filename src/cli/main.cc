#include <cstring>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/job_state.h"
#include "cli/print.h"
#include "cli/target.h"
#include "env/process.h"
#include "env/standard_streams.h"
#include "generated/version.h"

namespace runnel::cli {
namespace {

int dispatch(const Arguments& arguments, const home::Home& home) {
  switch (arguments.command) {
    case Command::kRun: return run_job(arguments, home);
    case Command::kUp: return up(arguments, home);
    case Command::kValidate: return validate(arguments, home);
    case Command::kPlan: return plan(arguments, home);
    case Command::kImport: return import_job(arguments, home);
    case Command::kPrices: return show_prices(arguments);
    case Command::kNodes: return list_nodes(arguments, home);
    case Command::kPreempt: return preempt_node(arguments, home);
    case Command::kPs: return list_jobs(arguments, home);
    case Command::kShow: return show(arguments, home);
    case Command::kLogs: return logs(arguments, home);
    case Command::kMetrics: return metrics(arguments, home);
    case Command::kStudyList:
    case Command::kStudyShow:
    case Command::kStudyBest:
    case Command::kStudyAsk:
    case Command::kStudyReport:
    case Command::kStudyTell:
    case Command::kStudyExport: return study(arguments, home);
    case Command::kEvents: return events(arguments, home);
    case Command::kCancel:
    case Command::kHalt:
    case Command::kResume:
    case Command::kRetry:
    case Command::kDelete: return act(arguments, home);
    case Command::kWait: return wait_for_jobs(arguments, home);
    case Command::kExplain: return explain(arguments, home);
    case Command::kCheck: return check(arguments, home);
    case Command::kHome: return show_home(arguments, home);
    case Command::kHomeLogs: return home_logs(arguments, home);
    case Command::kVolumeCreate:
    case Command::kVolumeList:
    case Command::kVolumeVersions:
    case Command::kVolumeShow:
    case Command::kVolumePut:
    case Command::kVolumeGet:
    case Command::kVolumeLs:
    case Command::kVolumeCat:
    case Command::kVolumeRm:
    case Command::kVolumeCp:
    case Command::kVolumeMv:
    case Command::kVolumeSync:
    case Command::kVolumeSnapshot:
    case Command::kVolumeClone:
    case Command::kVolumeRestore:
    case Command::kVolumeDump:
    case Command::kVolumeLoad:
    case Command::kVolumeExport:
    case Command::kVolumeImport:
    case Command::kVolumeTag:
    case Command::kVolumeDelete:
    case Command::kVolumeForget:
    case Command::kVolumeGc:
    case Command::kVolumeStat:
    case Command::kVolumeFsck:
    case Command::kVolumeBench:
    case Command::kVolumeWarmup:
    case Command::kVolumeMount:
    case Command::kVolumeUmount:
    case Command::kVolumePublish:
    case Command::kVolumeBranches:
    case Command::kVolumeMerge:
    case Command::kVolumeServe: return volume_command(arguments, home);
    case Command::kFsck: return fsck(arguments, home);
    case Command::kSimulate: return simulate(arguments, home);
    case Command::kCompletion: put(completion_script(arguments.shell)); return 0;
    case Command::kDaemon: return run_daemon(home);
    case Command::kRunner: return run_runner(home);
    case Command::kDevices: return tell_devices(arguments);
  }
  return 2;
}

// A daemon or runner looks in its own time: the process that started it waits for it.
bool looks_into_the_home(Command command) {
  switch (command) {
    case Command::kPrices:
    case Command::kSimulate:
    case Command::kCompletion:
    case Command::kDaemon:
    case Command::kDevices:
    case Command::kRunner: return false;
    default: return true;
  }
}

// https://no-color.org, and terminals that know none.
bool colours_are_refused() {
  return !env::variable("NO_COLOR").value_or("").empty() || env::variable("TERM") == "dumb";
}

int run(int argc, char** argv) {
  const Parsed parsed = parse_arguments(argc, argv);
  if (!parsed.error.empty()) {
    say(parsed.error.substr(0, parsed.error.size() - 1));
    return 2;
  }
  if (!parsed.arguments.has_value()) {
    put(parsed.text);
    return 0;
  }
  const bool plain = parsed.arguments->no_colour || colours_are_refused();
  print_as(parsed.arguments->output, plain ? Colours::kNever : Colours::kOnTerminal);
  const Result<home::Home> home = home::find_home(parsed.arguments->home);
  if (!home.ok()) return fail(home.error());
  if (const auto named = check_jobs(parsed.arguments->jobs); !named.ok()) {
    const int code = fail(named.error());
    return parsed.arguments->status ? kStatusNotFound : code;
  }
  if (looks_into_the_home(parsed.arguments->command)) {
    const auto answers = home::refuse_silent_home(*home);
    if (!answers.ok()) return fail(answers.error());
  }
  return dispatch(*parsed.arguments, *home);
}

}  // namespace
}  // namespace runnel::cli

int main(int argc, char** argv) {
  runnel::env::open_standard_streams();
  // Answered before anything is set up: scripts ask it often.
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    runnel::cli::put(std::string(runnel::kVersion) + "\n");
    return 0;
  }
  return runnel::cli::run(argc, argv);
}
