#include <memory>
#include <string>
#include <vector>

#include "agent/device_look.h"
#include "agent/device_watch.h"
#include "agent/lost_and_found.h"
#include "cli/commands.h"
#include "cli/job_state.h"
#include "cli/pages.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/silence.h"
#include "control/leftovers.h"
#include "env/clock.h"
#include "env/file_lock.h"
#include "env/file_system.h"
#include "env/files.h"
#include "env/machine.h"
#include "env/process.h"
#include "home/halt_unfinished.h"
#include "home/local_devices.h"
#include "home/nodes_file.h"
#include "home/place.h"
#include "output/paths.h"
#include "store/sqlite/fsck.h"
#include "store/sqlite/sqlite_log.h"

namespace runnel::cli {
namespace {

constexpr std::int64_t kAdoptedToldMax = 1'000;

// One line of `check`: what was looked at, how it is, and what to do where it is not well.
struct Finding {
  std::string what;
  std::string found;
  std::string remedy;  // Empty: fine.
};

Finding check_home_folder(const home::Home& home) {
  const auto file_system = env::file_system_of(home.root);
  if (!file_system.ok()) return {"home", home.root, file_system.error().to_string()};
  const std::string found = home.root + " (" + file_system->name + ")";
  if (file_system->locality != env::Locality::kLocal) {
    return {"home", found, "choose a folder on a local disk: export RUNNEL_HOME=DIR"};
  }
  return {"home", found, ""};
}

Finding check_space(const home::Home& home) {
  constexpr Bytes kEnough = Bytes::mebi(100);
  const auto space =
      env::free_space(env::exists(home.root) ? home.root : env::parent_of(home.root));
  if (!space.ok()) return {"disk", "unknown", space.error().to_string()};
  const bool enough = *space >= kEnough;
  return {"disk", human(*space) + " free", enough ? "" : "free some space, or move the home"};
}

Finding check_layout(const home::Home& home) {
  const auto readable = home::check_version(home);
  if (!readable.ok()) return {"version", readable.error().message, readable.error().hint};
  return {"version", "up to " + std::to_string(home::kHomeVersion) + " is read", ""};
}

Finding check_nodes(const home::Home& home) {
  const auto nodes = home::nodes_of_home(home, home::device_command(home).value_or({}));
  if (!nodes.ok()) return {"nodes", home.nodes_file(), nodes.error().to_string()};
  std::string found;
  for (const model::NodeInfo& node : nodes->nodes) {
    found += (found.empty() ? "" : "; ") + node.id.str() + ": " + node.capacity.describe();
  }
  if (!nodes->failed_look) return {"nodes", found, ""};
  return {"nodes", found, "its devices are not known: " + nodes->failed_look->why};
}

// Whether nodes.yaml says so or not: what the driver shows.
Finding check_devices(const home::Home& home) {
  const auto command = home::device_command(home);
  if (!command.ok()) return {"devices", "unknown", command.error().to_string()};
  const auto look = agent::look_in_process(*command, agent::DeviceWatch::kAnswersWithin);
  if (!look.ok()) {
    const std::string& hint = look.error().hint;
    return {"devices", look.error().message, hint.empty() ? "see nvidia-smi and dmesg" : hint};
  }
  std::string found;
  for (const agent::SeenDevice& seen : look->devices) {
    found += (found.empty() ? "" : "; ") + (seen.name.empty() ? seen.id : seen.name);
    if (!seen.fault.empty()) found += " (" + seen.fault + ")";
  }
  return {"devices", found.empty() ? "none" : found, ""};
}

Finding check_program(const std::string& path) {
  return {path, env::exists(path) ? "found" : "missing",
          env::exists(path) ? "" : "install it: scripts (run:) need it"};
}

int print_findings(const Arguments& arguments, const std::vector<Finding>& findings) {
  int code = 0;
  json::Value::List list;
  Table table({"WHAT", "FOUND", "REMEDY"});
  for (const Finding& finding : findings) {
    if (!finding.remedy.empty()) code = 1;
    table.add({finding.what, finding.found, finding.remedy.empty() ? "fine" : finding.remedy});
    json::Value item = json::Value::object();
    item.set("what", json::Value::text(finding.what));
    item.set("found", json::Value::text(finding.found));
    item.set("remedy", json::Value::text(finding.remedy));
    list.push_back(std::move(item));
  }
  if (is_document(arguments.output)) {
    put(document(json::Value::list(std::move(list)), arguments.output));
  } else {
    put(table_text(table));
  }
  return code;
}

json::Value list_of(const std::vector<std::string>& lines) {
  json::Value::List list;
  for (const std::string& line : lines) list.push_back(json::Value::text(line));
  return json::Value::list(std::move(list));
}

json::Value fsck_document(const store::FsckReport& report) {
  json::Value out = json::Value::object();
  out.set("batches", json::Value::integer(report.last.value()));
  out.set("snapshots", json::Value::integer(report.snapshots));
  out.set("archived_jobs", json::Value::integer(report.archive_entries));
  out.set("notices", list_of(report.notices));
  out.set("problems", list_of(report.problems));
  return out;
}

json::Value repair_document(const store::FsckReport& found, const store::RepairReport& report) {
  json::Value out = json::Value::object();
  out.set("problems", list_of(found.problems));
  out.set("batches", json::Value::integer(report.last.value()));
  out.set("copy", json::Value::text(report.copy));
  out.set("dropped", list_of(report.dropped));
  return out;
}

void print_fsck(const store::FsckReport& report) {
  for (const std::string& line : report.notices) say("notice: " + line);
  for (const std::string& line : report.problems) say("problem: " + line);
  say(std::to_string(report.last.value()) + " batches" + (report.sound() ? ", all sound" : ""));
}

// The jobs whose files are in the home and that the repaired log does not know.
Result<std::vector<JobId>> forgotten_jobs(const home::Home& home) {
  const std::vector<JobId> jobs = TRY(output::jobs_with_folders(home.root));
  const std::unique_ptr<store::EventLog> log =
      TRY(store::open_sqlite_log(home.event_log(), env::real_clock()));
  return TRY(control::leftovers_in(*log, jobs)).unknown;
}

void tell_forgotten(const home::Home& home, std::vector<std::string>& dropped) {
  const Result<std::vector<JobId>> jobs = forgotten_jobs(home);
  if (!jobs.ok()) {
    dropped.push_back("Which jobs cannot be told: " + jobs.error().to_string());
    return;
  }
  for (const JobId& job : *jobs) {
    dropped.push_back("Job " + job.str() + ": its files are in " + home.jobs() + "/" + job.str() +
                      ", and the next command moves them to " + agent::lost_and_found(home.root) +
                      "/" + job.str() + ".");
  }
}

// Their end, if they came to one, was lost with the end of the log.
void halt_the_unfinished(const home::Home& home, std::vector<std::string>& dropped) {
  const Result<std::vector<JobId>> halted = home::halt_unfinished(home);
  if (!halted.ok()) {
    dropped.push_back("Jobs that had ended may begin again with the next command, since " +
                      halted.error().to_string());
    return;
  }
  for (const JobId& job : *halted) {
    dropped.push_back("Job " + job.str() +
                      ": whether it has ended. It was halted, so that nothing of it runs a second "
                      "time; to let it go on: runnel resume " +
                      job.str());
  }
}

int repair(const Arguments& arguments, const home::Home& home, const store::FsckReport& found) {
  env::keep_files_private();
  auto report = store::repair_sqlite_log(home.event_log(), env::real_clock());
  if (!report.ok()) return fail(report.error());
  tell_forgotten(home, report->dropped);
  if (report->lost_end) halt_the_unfinished(home, report->dropped);
  if (is_document(arguments.output)) {
    put(document(repair_document(found, *report), arguments.output));
    return 0;
  }
  print_fsck(found);
  say("the files as they were are in " + report->copy);
  for (const std::string& line : report->dropped) say("dropped: " + line);
  say("kept batches up to " + std::to_string(report->last.value()));
  return 0;
}

int no_log(const home::Home& home) {
  say("the home " + home.root + " has no log yet");
  return 0;
}

// Files of another home's jobs tell nothing of a log of ours.
Result<store::FsckReport> look_at_log(const home::Home& home, bool has_own_jobs) {
  Result<store::FsckReport> report = store::fsck_sqlite_log(home.event_log());
  const bool none = !report.ok() && report.error().code == Errc::kNotFound;
  if (!none || !has_own_jobs) return report;
  const Result<void> lost = home::refuse_lost_log(home);
  if (lost.ok()) return report;
  report = store::FsckReport();
  report->problems.push_back(lost.error().message);
  return report;
}

Result<env::FileLock> lock_unused(const home::Home& home) {
  TRY(home::refuse_silent_disk(home));
  TRY(home::refuse_unwritable(home));
  Result<env::FileLock> lock = env::FileLock::acquire(home.lock());
  if (lock.ok() || lock.error().code != Errc::kConflict) return lock;
  return Error(Errc::kConflict, "the home is in use by its daemon, process " + lock.error().value)
      .with_hint("stop it first: kill " + lock.error().value);
}

Result<std::string> adopt(const home::Home& home) {
  if (!env::exists(home.root)) {
    return Error(Errc::kNotFound, "there is no home to adopt").with_value(home.root);
  }
  TRY(home::check_version(home));
  const Result<env::FileLock> lock = lock_unused(home);
  if (!lock.ok()) return lock.error();
  return home::adopt_place(home);
}

void tell_of_adoption(Session& session, const std::string& original) {
  say("the home " + session.home().root + " is one of its own now, no longer a copy of " +
      original);
  const Result<json::Value> list =
      read_pages(session, "/api/v1/jobs?filter=unfinished", "jobs", kAdoptedToldMax);
  const json::Value* jobs = list.ok() ? list->find("jobs") : nullptr;
  if (jobs == nullptr || !jobs->is_list()) return;
  for (const json::Value& job : jobs->as_list()) {
    const std::string id = text_of(job, "id");
    say("job " + id + " was unfinished: it goes on here as well as in " + original +
        "; to end this one: runnel cancel " + id);
  }
}

}  // namespace

int check(const Arguments& arguments, const home::Home& home) {
  return print_findings(
      arguments, {check_home_folder(home), check_layout(home), check_space(home), check_nodes(home),
                  check_devices(home), check_program("/bin/sh")});
}

int show_home(const Arguments& arguments, const home::Home& home) {
  std::string original;
  if (arguments.adopt) {
    Result<std::string> adopted = adopt(home);
    if (!adopted.ok()) return fail(adopted.error());
    original = *std::move(adopted);
    if (original.empty()) say("the home " + home.root + " is no copy: nothing was changed");
  }
  Session session(home, Start::kIfAbsent);
  if (auto connected = session.connect(); !connected.ok()) return fail(connected.error());
  if (!original.empty()) tell_of_adoption(session, original);
  const Result<json::Value> info = session.get("/api/v1/home");
  if (!info.ok()) return fail(info.error());
  tell_of_silence(*info);
  if (arguments.output == Output::kJson) {
    put(document(*info, Output::kJson));
  } else {
    put(document(*info, Output::kYaml));
  }
  return 0;
}

int fsck(const Arguments& arguments, const home::Home& home) {
  if (!env::exists(home.root)) return no_log(home);
  if (auto readable = home::check_version(home); !readable.ok()) return fail(readable.error());
  const Result<env::FileLock> lock = lock_unused(home);
  if (!lock.ok()) return fail(lock.error());
  if (auto files = home::refuse_misplaced(home); !files.ok()) return fail(files.error());
  const Result<void> ours = home::refuse_jobs_of_another(home);
  const Result<store::FsckReport> report = look_at_log(home, ours.ok());
  if (!report.ok() && report.error().code == Errc::kNotFound) {
    return ours.ok() ? no_log(home) : fail(ours.error());
  }
  if (!report.ok()) return fail(report.error());
  if (arguments.repair && !report->sound()) return repair(arguments, home, *report);
  if (is_document(arguments.output)) {
    put(document(fsck_document(*report), arguments.output));
  } else {
    print_fsck(*report);
  }
  if (report->sound()) return ours.ok() ? 0 : fail(ours.error());
  say("nothing was changed; to keep the longest valid part: runnel fsck --repair");
  return 1;
}

}  // namespace runnel::cli
