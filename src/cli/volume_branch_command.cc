#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "cli/branches_of_job.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "env/files.h"
#include "home/pause.h"
#include "volume/branch_session.h"
#include "volume/merge.h"

namespace runnel::cli {
namespace {

using volume::SeenBranch;
using volume::Volume;

// A mount that was just taken away publishes its rest, and seals its branch.
constexpr Duration kSealedWithin = Duration::seconds(10);
constexpr Duration kSealedLookEvery = Duration::millis(100);

json::Value branch_document(const SeenBranch& branch) {
  const volume::SessionRecord& record = branch.record();
  json::Value value = json::Value::object();
  value.set("branch", json::Value::text(branch.name()));
  value.set("sealed", json::Value::boolean(record.sealed));
  if (!record.merged.empty()) value.set("merged", json::Value::text(record.merged));
  value.set("term", json::Value::integer(record.term));
  value.set("publishes", json::Value::integer(record.publishes));
  value.set("host", json::Value::text(record.host));
  value.set("pid", json::Value::integer(record.pid));
  return value;
}

std::string who_writes(const Volume& volume, const volume::SessionRecord& record) {
  if (record.sealed) return "-";
  const std::string process =
      "process " + std::to_string(record.pid) + " on " + printable(record.host);
  return volume.processes().has_ended(record) ? process + ", which has ended" : process;
}

Result<int> list_branches(const Arguments& arguments, VolumeClient& client, Volume& volume) {
  Table table({"BRANCH", "SEALED", "TERM", "PUBLISHES", "WRITTEN BY"});
  json::Value::List all;
  for (const SeenBranch& branch : TRY(client.run(volume::see_branches(volume)))) {
    const volume::SessionRecord& record = branch.record();
    table.add({printable(branch.name()), record.sealed ? "yes" : "no", std::to_string(record.term),
               std::to_string(record.publishes), who_writes(volume, record)});
    all.push_back(branch_document(branch));
  }
  const bool has_some = !all.empty();
  json::Value value = json::Value::object();
  value.set("branches", json::Value::list(std::move(all)));
  answer(arguments, value, has_some ? table_text(table) : "no branches\n");
  return 0;
}

// Its writer would find out at its next write, or at its end.
Result<void> check_unwritten(const SeenBranch& branch) {
  const volume::SessionRecord& record = branch.record();
  if (record.sealed || volume::has_ended(record, volume::session_of_this_process(""))) return {};
  return Error(Errc::kConflict, "branch '" + branch.name() + "' is still written to")
      .with_field("branch")
      .with_value(branch.name())
      .with_hint("take its mount away first, or cancel the job that writes it");
}

Result<int> remove_named(const Arguments& arguments, VolumeClient& client, Volume& volume) {
  for (SeenBranch& branch : TRY(client.run(volume::find_branches(volume, arguments.targets)))) {
    const std::string name = branch.name();
    TRY(check_unwritten(branch));
    if (TRY(client.run(volume::remove_branch(volume, std::move(branch))))) continue;
    return Error(Errc::kConflict, "branch '" + name + "' was written to meanwhile")
        .with_field("branch")
        .with_value(name)
        .with_hint("run it again");
  }
  answer(arguments, json::Value::object(), "");
  return 0;
}

Result<bool> is_any_unsealed(VolumeClient& client, Volume& volume,
                             const std::vector<std::string>& names) {
  const std::vector<SeenBranch> all = TRY(client.run(volume::see_branches(volume)));
  return std::ranges::any_of(all, [&names](const SeenBranch& branch) {
    return !branch.record().sealed && std::ranges::find(names, branch.name()) != names.end();
  });
}

// Each once.
Result<std::vector<std::string>> names_to_merge(const Arguments& arguments) {
  std::set<std::string> once(arguments.targets.begin(), arguments.targets.end());
  if (!arguments.branches_from.empty()) {
    std::istringstream lines(TRY(env::read_file(arguments.branches_from)));
    for (std::string line; std::getline(lines, line);) once.insert(line);
  }
  if (!once.empty()) return std::vector<std::string>(once.begin(), once.end());
  return Error(Errc::kInvalid, "nothing says which branches are to be merged")
      .with_field("branch")
      .with_hint("see them: runnel volume branches " + arguments.volume);
}

}  // namespace

Result<int> tell_branches(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  return arguments.targets.empty() ? list_branches(arguments, *client, opened)
                                   : remove_named(arguments, *client, opened);
}

Result<int> merge_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const std::vector<std::string> names = TRY(names_to_merge(arguments));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  for (Duration waited; waited < kSealedWithin; waited = waited + kSealedLookEvery) {
    if (!TRY(is_any_unsealed(*client, opened, names))) break;
    home::pause(kSealedLookEvery);
  }
  const bool is_of_job = !arguments.merge_name.empty();
  volume::MergeOptions options{is_of_job ? arguments.merge_name : "by hand",
                               arguments.message.value_or(""), is_of_job};
  const std::string version = TRY(
      client->run(volume::merge_branches(client->loop(), opened, names, std::move(options), {})));
  TRY(client->run(volume::remove_merged(opened, names)));
  // Of tasks that have ended otherwise than well, too: their step has.
  if (is_of_job) TRY(remove_branches(*client, opened, arguments.merge_name + "."));
  json::Value value = json::Value::object();
  value.set("version", json::Value::text(version));
  answer(arguments, value, version + "\n");
  return 0;
}

}  // namespace runnel::cli
