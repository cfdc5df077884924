#include <string>
#include <vector>

#include "cli/print.h"
#include "cli/reading_jobs.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "home/volume_places.h"
#include "volume/delete.h"
#include "volume/stat.h"

namespace runnel::cli {
namespace {

using volume::Volume;

Result<void> check_no_job_reads(const home::Home& home, const std::string& name,
                                const object::StoreUrl& place) {
  std::string jobs;
  for (const volume::SessionRecord& job : TRY(reading_jobs(home, name, place))) {
    jobs += (jobs.empty() ? "" : ", ") + job.source;
  }
  if (jobs.empty()) return {};
  return Error(Errc::kConflict, "jobs that have not ended read volume " + name + ": " + jobs)
      .with_field("volume")
      .with_value(name)
      .with_hint("wait for them, or cancel them");
}

// A path or a version is something else's business.
Result<void> check_whole(const VolumeTarget& target) {
  if (target.version.empty() && target.path.empty()) return {};
  return Error(Errc::kInvalid, "a whole volume is named here, by its name alone")
      .with_field("volume")
      .with_hint(target.path.empty()
                     ? "old versions go by: runnel volume gc " + target.name + " --keep 7d"
                     : "files go by: runnel volume rm " + target.name + ":/" + target.path);
}

bool is_damaged(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kNotFound;
}

// What is about to be deleted, since nothing brings it back.
Error unasked(const std::string& name, const Result<volume::VolumeStat>& stat) {
  if (!stat.ok() && !is_damaged(stat.error())) return stat.error();
  const std::string what =
      stat.ok() ? count_text(stat->versions, "version", "versions") + ", the newest of " +
                      count_text(stat->newest.files, "file", "files") + ", in " +
                      human(Bytes::count(stat->stored_bytes))
                : "damage, so its versions are not known (" + stat.error().message + ")";
  return Error(Errc::kInvalid,
               "nothing brings back what is deleted: volume " + name + " has " + what)
      .with_field("yes")
      .with_hint("runnel volume delete " + name + " --yes");
}

bool is_gone(VolumeClient& client, const std::string& name) {
  const Result<Volume> there = client.run(Volume::open_to_delete(client.context(), name));
  return there.ok() && there->head().is_gone;
}

json::Value delete_document(const std::string& name, const volume::DeleteResult& result) {
  json::Value value = json::Value::object();
  value.set("name", json::Value::text(name));
  value.set("objects", json::Value::integer(result.objects));
  value.set("bytes", json::Value::integer(result.bytes));
  return value;
}

}  // namespace

Result<int> delete_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  TRY(check_whole(target));
  const std::string& name = target.name;
  const object::StoreUrl place = TRY(home::place_of_volume(home, name, arguments.store));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  Volume opened = TRY(client->run(Volume::open_to_delete(client->context(), name)));
  TRY(check_no_job_reads(home, name, place));
  if (!opened.head().is_deleted()) {
    TRY(client->run(volume::check_unused(opened, {})));
    if (!arguments.yes) return unasked(name, client->run(volume::stat_volume(opened, {})));
  }
  const auto work = [&] {
    return volume::delete_volume(client->loop(), env::real_clock(), opened,
                                 {.make_room = [&client] { return client->give_up_reserve(); }},
                                 {});
  };
  const volume::DeleteResult result = TRY(client->run_freeing<volume::DeleteResult>(work));
  TRY(home::forget_volume(home, name, place, [&] { return is_gone(*client, name); }));
  answer(arguments, delete_document(name, result),
         "deleted volume " + name + ": " + count_text(result.objects, "object", "objects") + ", " +
             human(Bytes::count(result.bytes)) + "\n");
  return 0;
}

Result<int> forget_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  TRY(check_whole(target));
  const home::VolumePlaces places = TRY(home::volume_places(home));
  const auto known = places.find(target.name);
  if (known == places.end()) {
    return Error(Errc::kNotFound, "this home knows no volume " + target.name)
        .with_field("volume")
        .with_value(target.name)
        .with_hint("runnel volume list shows those that it knows");
  }
  TRY(home::forget_volume(home, target.name, known->second, [] { return true; }));
  json::Value value = json::Value::object();
  value.set("name", json::Value::text(target.name));
  value.set("store", json::Value::text(known->second.to_string()));
  answer(arguments, value,
         "forgot volume " + target.name + "; " + known->second.to_string() + " keeps it\n");
  return 0;
}

}  // namespace runnel::cli
