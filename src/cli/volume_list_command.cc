#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/abandonable_call.h"
#include "async/event.h"
#include "async/together.h"
#include "cli/print.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "home/volume_places.h"
#include "volume/volume.h"

namespace runnel::cli {
namespace {

using volume::Volume;

// A store that is away, or a folder on a dead mount, keeps nobody from the list of the others.
constexpr Duration kAnswersWithin = Duration::seconds(5);
constexpr Duration kOpensWithin = Duration::seconds(6);  // With what may block before it asks.
constexpr std::size_t kAtOnce = 16;

Error is_silent(Duration within) {
  return {Errc::kTimeout, "its store has not answered within " + to_string(within)};
}

Result<Volume> opened_soon(VolumeClient& client, const std::string& name) {
  async::StopSource stop;
  async::Timer limit(client.loop());
  limit.start(kAnswersWithin, [&stop] { stop.stop(); });
  volume::VolumeContext context = client.context();
  context.stop = stop.token();
  Result<Volume> opened = client.run(Volume::open(context, name));
  if (opened.ok() || opened.error().code != Errc::kCancelled) return opened;
  return is_silent(kAnswersWithin);
}

json::Value document_of(const std::string& name, const object::StoreUrl& place) {
  json::Value value = json::Value::object();
  value.set("name", json::Value::text(name));
  value.set("store", json::Value::text(place.to_string()));
  return value;
}

json::Value problem_document(const std::string& name, const object::StoreUrl& place,
                             const Error& problem) {
  json::Value value = document_of(name, place);
  value.set("problem", json::Value::text(problem.to_string()));
  return value;
}

// Blocks, for ever where the folder is on a dead mount.
json::Value look(const std::string& name, const object::StoreUrl& place) {
  const Result<VolumeClientPtr> client = VolumeClient::open(place);
  const Result<Volume> opened =
      client.ok() ? opened_soon(**client, name) : Result<Volume>(client.error());
  if (!opened.ok()) return problem_document(name, place, opened.error());
  json::Value value = document_of(name, place);
  if (const volume::VersionPlace* newest = opened->head().newest()) {
    value.set("version", json::Value::text(newest->version));
    value.set("versions", json::Value::integer(std::ssize(opened->head().recent)));
  }
  return value;
}

// On a thread of its own, which is left alone when it stands still.
Async<json::Value> look_soon(async::EventLoop& loop, std::string name, object::StoreUrl place) {
  const auto found = std::make_shared<std::optional<json::Value>>();
  async::Latch ended(loop);
  async::Timer limit(loop);
  bool is_late = false;
  const Result<async::AbandonableCall> call = async::AbandonableCall::start(
      loop, "volume-list", [found, name, place] { found->emplace(look(name, place)); },
      [&ended] { ended.open(); });
  if (!call.ok()) co_return problem_document(name, place, call.error());
  limit.start(kOpensWithin, [&] {
    is_late = true;
    ended.open();
  });
  CO_TRY(co_await ended.wait());
  if (is_late) co_return problem_document(name, place, is_silent(kOpensWithin));
  co_return std::move(**found);
}

Result<json::Value::List> documents(const home::VolumePlaces& places) {
  const std::unique_ptr<async::EventLoop> loop = TRY(async::EventLoop::create());
  json::Value::List all;
  for (auto place = places.begin(); place != places.end();) {
    std::vector<Async<json::Value>> looks;
    for (; place != places.end() && looks.size() < kAtOnce; ++place) {
      looks.push_back(look_soon(*loop, place->first, place->second));
    }
    for (json::Value& value : TRY(loop->block_on(async::when_all(*loop, std::move(looks))))) {
      all.push_back(std::move(value));
    }
  }
  return all;
}

std::string table_of(const json::Value::List& all) {
  Table table({"NAME", "LATEST", "VERSIONS", "STORE"});
  for (const json::Value& value : all) {
    const bool is_known = value.find("problem") == nullptr;
    table.add({text_of(value, "name"), is_known ? or_dash(text_of(value, "version")) : "?",
               is_known ? std::to_string(number_of(value, "versions")) : "?",
               text_of(value, "store")});
  }
  return table_text(table);
}

}  // namespace

Result<int> list_volumes(const Arguments& arguments, const home::Home& home) {
  const home::VolumePlaces places = TRY(home::volume_places(home));
  if (arguments.output == Output::kName) {
    for (const auto& [name, place] : places) put(name + "\n");
    return 0;
  }
  json::Value::List all = TRY(documents(places));
  for (const json::Value& value : all) {
    const std::string problem = text_of(value, "problem");
    if (!problem.empty()) say("runnel: volume " + text_of(value, "name") + ": " + problem);
  }
  const std::string table = table_of(all);
  json::Value value = json::Value::object();
  value.set("volumes", json::Value::list(std::move(all)));
  answer(arguments, value, table);
  return 0;
}

}  // namespace runnel::cli
