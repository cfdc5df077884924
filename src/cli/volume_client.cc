#include "cli/volume_client.h"

#include "base/check.h"
#include "cli/moment_text.h"
#include "cli/print.h"
#include "env/files.h"
#include "home/close_home.h"
#include "home/volume_places.h"

namespace runnel::cli {

Result<std::unique_ptr<VolumeClient>> VolumeClient::open(const object::StoreUrl& place) {
  return open_on(TRY(async::EventLoop::create()), place, object::KeyRule::kEveryStore);
}

Result<std::unique_ptr<VolumeClient>> VolumeClient::beside(const object::StoreUrl& place,
                                                           object::KeyRule rule) const {
  return open_on(loop_, place, rule);
}

Result<std::unique_ptr<VolumeClient>> VolumeClient::open_on(std::shared_ptr<async::EventLoop> loop,
                                                            const object::StoreUrl& place,
                                                            object::KeyRule rule) {
  CHECK(loop != nullptr, "a client has a loop");
  auto client = std::unique_ptr<VolumeClient>(new VolumeClient(std::move(loop)));
  client->store_ = TRY(object::OpenedStore::open(*client->loop_, env::real_clock(),
                                                 env::real_random(), place, rule));
  client->others_.emplace(*client->loop_, env::real_clock(), env::real_random());
  return client;
}

VolumeClient::~VolumeClient() {
  if (others_) (void)loop_->block_on(others_->stop());
  if (store_) (void)loop_->block_on(store_->stop());
}

Result<VolumeClientPtr> client_of(const Arguments& arguments, const home::Home& home,
                                  const std::string& name) {
  return VolumeClient::open(TRY(home::place_of_volume(home, name, arguments.store)));
}

Result<void> prepare_for_volume(const home::Home& home, const std::string& name,
                                const object::StoreUrl& place) {
  TRY(env::make_directories(home.root, env::Access::kOwner));
  const std::string notice = TRY(home::close_home(home));
  if (!notice.empty()) say("runnel: " + notice);
  const object::StoreUrl known = TRY(home::place_of_volume(home, name, std::nullopt));
  const bool is_folder = known.scheme == object::StoreUrl::Scheme::kFile;
  // Another volume in its place would get what mounts of it have not published yet.
  const bool is_remembered = TRY(home::volume_places(home)).contains(name);
  const bool is_away = is_remembered && is_folder && !env::exists(known.path);
  if (is_away && known == place) {
    return Error(Errc::kUnavailable, "this home knows a volume " + name + " in " +
                                         known.to_string() + ", and there is no such folder")
        .with_field("volume")
        .with_value(name)
        .with_hint("mount its disk; where it is gone for good: runnel volume forget " + name);
  }
  if (known == place || (is_folder && !env::exists(known.path))) return {};
  const VolumeClientPtr client = TRY(VolumeClient::open(known));
  const Result<volume::Volume> there = client->volume(name);
  if (!there.ok() && there.error().code == Errc::kNotFound) return {};
  return Error(Errc::kConflict,
               "this home knows a volume " + name + " in " + known.to_string() + " already")
      .with_field("volume")
      .with_value(name)
      .with_hint("give it another name; a volume that is there is named by --store, too");
}

void answer(const Arguments& arguments, const json::Value& value, const std::string& text) {
  put(is_document(arguments.output) ? document(value, arguments.output) : text);
}

std::string count_text(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::vector<std::string> tags_of(const volume::Head& head, const std::string& version) {
  std::vector<std::string> tags;
  for (const auto& [name, place] : head.tags) {
    if (place.version == version) tags.push_back(name);
  }
  return tags;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

json::Value manifest_document(const volume::Manifest& manifest) {
  json::Value value = json::Value::object();
  value.set("version", json::Value::text(manifest.version));
  value.set("parent", json::Value::text(manifest.parent));
  value.set("time", json::Value::text(rfc3339(manifest.time)));
  value.set("message", json::Value::text(manifest.message));
  value.set("tree", json::Value::text(hash::hex(manifest.tree)));
  value.set("files", json::Value::integer(manifest.totals.files));
  value.set("folders", json::Value::integer(manifest.totals.folders));
  value.set("links", json::Value::integer(manifest.totals.links));
  value.set("bytes", json::Value::integer(manifest.totals.bytes));
  return value;
}

}  // namespace runnel::cli
