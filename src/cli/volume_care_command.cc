#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "cli/moment_text.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/reading_jobs.h"
#include "cli/transfer_line.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "home/volume_places.h"
#include "volume/fsck.h"
#include "volume/gc.h"
#include "volume/stat.h"
#include "volume/tag.h"

namespace runnel::cli {
namespace {

using volume::Volume;

// "the mount in /data (pid 7 on node1)"
std::string holder_text(const volume::SessionRecord& holder) {
  if (holder.kind == "job") return "job " + holder.source + ", which has not ended";
  const char* const of = holder.kind == "mount" ? " in " : " of ";
  return "the " + holder.kind + (holder.source.empty() ? "" : of + holder.source) + " (pid " +
         std::to_string(holder.pid) + " on " + holder.host + ")";
}

std::string holders_text(const volume::OldVersion& old) {
  std::string text;
  for (const volume::SessionRecord& holder : old.holders) {
    text += (text.empty() ? "" : ", ") + holder_text(holder);
  }
  return printable(text);
}

// "9f1c6d2e4b8a7035, 2026-11-26 09:17:25, 3 files"
std::string old_version_text(const volume::OldVersion& old) {
  return old.version + ", " + moment_text(rfc3339(old.time)) + ", " +
         count_text(old.files, "file", "files");
}

json::Value old_versions_document(const std::vector<volume::OldVersion>& all) {
  json::Value::List list;
  for (const volume::OldVersion& old : all) {
    json::Value value = json::Value::object();
    value.set("version", json::Value::text(old.version));
    value.set("time", json::Value::text(rfc3339(old.time)));
    value.set("files", json::Value::integer(old.files));
    if (!old.holders.empty()) value.set("held_by", json::Value::text(holders_text(old)));
    list.push_back(std::move(value));
  }
  return json::Value::list(std::move(list));
}

json::Value gc_document(const volume::GcResult& result, bool dry_run) {
  json::Value value = json::Value::object();
  value.set("dry_run", json::Value::boolean(dry_run));
  value.set("dropped", old_versions_document(result.dropped));
  value.set("held", old_versions_document(result.held));
  value.set("sessions", json::Value::integer(result.sessions));
  value.set("objects", json::Value::integer(result.objects));
  value.set("bytes", json::Value::integer(result.bytes));
  value.set("rewritten", json::Value::integer(result.rewritten));
  if (!result.damage.empty()) value.set("damage", json::Value::text(result.damage));
  return value;
}

std::string gc_text(const volume::GcResult& result, const std::string& name, bool dry_run) {
  std::string text;
  for (const volume::OldVersion& old : result.dropped) {
    text += (dry_run ? "would drop version " : "dropped version ") + old_version_text(old) + "\n";
  }
  for (const volume::OldVersion& old : result.held) {
    text += (dry_run ? "would keep version " : "kept version ") + old_version_text(old) +
            ": held by " + holders_text(old) + "\n";
  }
  if (result.sessions > 0) {
    text += (dry_run ? "would end " : "ended ") +
            count_text(result.sessions, "session", "sessions") + " of processes that are gone\n";
  }
  if (result.rewritten > 0) {
    text +=
        (dry_run ? "would pack " : "packed ") + human(Bytes::count(result.rewritten)) + " anew\n";
  }
  if (!result.damage.empty()) {
    text += "packed nothing anew, since the newest version is damaged: " + result.damage +
            "; see all that is: runnel volume fsck " + name + "\n";
  }
  return text + (dry_run ? "would delete at least " : "deleted ") +
         count_text(result.objects, "object", "objects") + ", " +
         human(Bytes::count(result.bytes)) + "\n";
}

json::Value fsck_document(const volume::FsckResult& result) {
  json::Value::List damages;
  for (const volume::Damage& damage : result.damages) {
    json::Value value = json::Value::object();
    value.set("version", json::Value::text(damage.version));
    value.set("path", json::Value::text(damage.path));
    value.set("what", json::Value::text(damage.what));
    damages.push_back(std::move(value));
  }
  json::Value value = json::Value::object();
  value.set("damages", json::Value::list(std::move(damages)));
  value.set("versions", json::Value::integer(result.versions));
  value.set("files", json::Value::integer(result.files));
  value.set("bytes", json::Value::integer(result.bytes));
  value.set("forgotten", json::Value::integer(result.forgotten));
  return value;
}

std::string digits_text(double amount) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4f", amount);
  return text.data();
}
json::Value dollars_of(double amount) { return json::Value::decimal(digits_text(amount)); }
std::string dollars_text(double amount) { return "$" + digits_text(amount); }

json::Value stat_document(const volume::VolumeStat& stat, bool has_price) {
  json::Value value = json::Value::object();
  value.set("files", json::Value::integer(stat.newest.files));
  value.set("bytes", json::Value::integer(stat.newest.bytes));
  value.set("versions", json::Value::integer(stat.versions));
  value.set("sessions", json::Value::integer(stat.sessions));
  value.set("packs", json::Value::integer(stat.packs));
  value.set("objects", json::Value::integer(stat.objects));
  value.set("stored_bytes", json::Value::integer(stat.stored_bytes));
  value.set("read_requests", json::Value::integer(stat.reads));
  if (stat.may_have_links) value.set("linked", json::Value::boolean(true));
  if (!has_price) return value;
  const volume::StorePrice price = volume::store_price(stat);
  json::Value dollars = json::Value::object();
  dollars.set("month", dollars_of(price.month));
  dollars.set("put_once", dollars_of(price.put_once));
  dollars.set("read_once", dollars_of(price.read_once));
  value.set("usd", std::move(dollars));
  return value;
}

std::string stat_text(const volume::VolumeStat& stat, bool has_price) {
  std::string text = count_text(stat.newest.files, "file", "files") + ", " +
                     human(Bytes::count(stat.newest.bytes)) + " in the newest of " +
                     count_text(stat.versions, "version", "versions") + "\n" +
                     count_text(stat.objects, "object", "objects") + ", " +
                     count_text(stat.packs, "pack", "packs") + " among them, " +
                     human(Bytes::count(stat.stored_bytes)) + " stored; read whole by " +
                     count_text(stat.reads, "request", "requests") + "\n";
  if (stat.may_have_links) {
    text += "and files that are objects of other buckets: each a request or more, at their price\n";
  }
  if (stat.sessions > 0) {
    text += count_text(stat.sessions, "session", "sessions") +
            " of processes that read or write it, or were killed\n";
  }
  if (!has_price) return text;
  const volume::StorePrice price = volume::store_price(stat);
  return text + "at S3's list prices: " + dollars_text(price.month) + " a month, " +
         dollars_text(price.put_once) + " to put it once, " + dollars_text(price.read_once) +
         " to read it once\n";
}

// What a version's damages are of.
struct Damaged {
  bool files = false;    // Their content can be put anew.
  bool objects = false;  // Linked ones.
  bool versions = false;
};

Damaged damaged_of(const volume::FsckResult& result, bool of_newest) {
  Damaged damaged;
  for (const volume::Damage& damage : result.damages) {
    if ((damage.version == result.newest) != of_newest) continue;
    damaged.objects |= damage.is_linked;
    damaged.files |= !damage.path.empty() && !damage.is_linked;
    damaged.versions |= damage.path.empty();
  }
  return damaged;
}

std::string fsck_hints(const std::string& name, const volume::FsckResult& result, bool repair) {
  const Damaged newest = damaged_of(result, true);
  const Damaged earlier = damaged_of(result, false);
  std::string text;
  if (result.forgotten > 0) {
    text += "put the damaged files again, and they are stored anew: runnel volume put SOURCE " +
            name + "\n";
  } else if (newest.files && !repair) {
    text += "to let a put store them anew: runnel volume fsck --repair " + name + "\n";
  }
  if (newest.objects) {
    text +=
        "to list the objects as they are today: runnel volume import --link s3://BUCKET/PREFIX " +
        name + ":/FOLDER, with --mirror without those that are gone\n";
  }
  const bool is_newest_whole = !newest.files && !newest.objects && !newest.versions;
  if (is_newest_whole && (earlier.files || earlier.objects || earlier.versions)) {
    text +=
        "the newest version is whole; earlier ones stay as they are until they are dropped: "
        "runnel volume gc --keep 0s " +
        name + " drops all that have no tag\n";
  }
  return text;
}

std::string fsck_text(const std::string& name, const volume::FsckResult& result, bool repair) {
  std::string text;
  for (const volume::Damage& damage : result.damages) {
    text += name + "@" + damage.version + (damage.path.empty() ? "" : ":/") +
            printable(damage.path) + ": " + printable(damage.what) + "\n";
  }
  text += "read " + count_text(result.files, "file", "files") + ", " +
          human(Bytes::count(result.bytes)) + " of " +
          count_text(result.versions, "version", "versions") + ": " +
          (result.damages.empty()
               ? "whole"
               : count_text(std::ssize(result.damages), "damaged path", "damaged paths")) +
          "\n";
  return text + fsck_hints(name, result, repair);
}

}  // namespace

Result<int> tag_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  json::Value value = json::Value::object();
  value.set("tag", json::Value::text(arguments.target));
  if (arguments.remove) {
    TRY(client->run_freeing<void>([&] { return volume::remove_tag(opened, arguments.target); }));
    answer(arguments, value, "");
    return 0;
  }
  const std::string version = TRY(client->run(
      volume::set_tag(opened, target.version_or_latest(), arguments.target, arguments.force)));
  value.set("version", json::Value::text(version));
  answer(arguments, value, version + "\n");
  return 0;
}

Result<int> collect_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  volume::GcOptions options;
  options.dry_run = arguments.dry_run;
  if (arguments.keep) {
    options.keep = TRY(parse_duration(*arguments.keep));
    const object::StoreUrl place = TRY(home::place_of_volume(home, target.name, arguments.store));
    options.awaited = TRY(reading_jobs(home, target.name, place));
  }
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  options.make_room = [&client] { return client->give_up_reserve(); };
  const volume::GcResult result = TRY(
      client->run(volume::collect_garbage(client->loop(), env::real_clock(), opened, options, {})));
  answer(arguments, gc_document(result, options.dry_run),
         gc_text(result, target.name, options.dry_run));
  return 0;
}

Result<int> tell_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const object::StoreUrl place = TRY(home::place_of_volume(home, target.name, arguments.store));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  Volume opened = TRY(client->volume(target.name));
  const volume::VolumeStat stat = TRY(client->run(volume::stat_volume(opened, {})));
  // One's own disk has no price.
  const bool has_price = place.scheme == object::StoreUrl::Scheme::kS3;
  answer(arguments, stat_document(stat, has_price), stat_text(stat, has_price));
  return 0;
}

Result<int> check_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  volume::FsckOptions options;
  options.repair = arguments.repair;
  TransferLine line("fsck");
  options.progress = [&line](const volume::FsckOptions::Progress& done) {
    line.draw({done.files, done.bytes, std::nullopt});
  };
  const Result<volume::FsckResult> done = client->run_drawing(
      line, volume::check_volume(client->loop(), opened, std::move(options), {}));
  line.clear();
  const volume::FsckResult result = TRY(Result<volume::FsckResult>(done));
  answer(arguments, fsck_document(result), fsck_text(target.name, result, arguments.repair));
  return result.damages.empty() ? 0 : 1;
}

}  // namespace runnel::cli
