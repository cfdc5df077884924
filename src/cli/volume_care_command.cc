#include <utility>

#include "cli/print.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "volume/gc.h"
#include "volume/tag.h"

namespace runnel::cli {
namespace {

using volume::Volume;

json::Value gc_document(const volume::GcResult& result) {
  json::Value::List dropped;
  for (const std::string& version : result.dropped) dropped.push_back(json::Value::text(version));
  json::Value value = json::Value::object();
  value.set("dropped", json::Value::list(std::move(dropped)));
  value.set("sessions", json::Value::integer(result.sessions));
  value.set("objects", json::Value::integer(result.objects));
  value.set("bytes", json::Value::integer(result.bytes));
  value.set("rewritten", json::Value::integer(result.rewritten));
  return value;
}

std::string gc_text(const volume::GcResult& result, bool dry_run) {
  std::string text;
  for (const std::string& version : result.dropped) text += "dropped version " + version + "\n";
  if (result.sessions > 0) {
    text += "ended " + count_text(result.sessions, "session", "sessions") +
            " of processes that are gone\n";
  }
  if (result.rewritten > 0) {
    text += "packed " + human(Bytes::count(result.rewritten)) + " anew\n";
  }
  return text + (dry_run ? "would delete " : "deleted ") +
         count_text(result.objects, "object", "objects") + ", " +
         human(Bytes::count(result.bytes)) + "\n";
}

}  // namespace

Result<int> tag_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  json::Value value = json::Value::object();
  value.set("tag", json::Value::text(arguments.target));
  if (arguments.remove) {
    TRY(client->run(volume::remove_tag(opened, arguments.target)));
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
  if (arguments.keep) options.keep = TRY(parse_duration(*arguments.keep));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  const volume::GcResult result = TRY(
      client->run(volume::collect_garbage(client->loop(), env::real_clock(), opened, options, {})));
  answer(arguments, gc_document(result), gc_text(result, options.dry_run));
  return 0;
}

}  // namespace runnel::cli
