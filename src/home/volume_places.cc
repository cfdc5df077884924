#include "home/volume_places.h"

#include <functional>
#include <utility>
#include <vector>

#include "env/file_lock.h"
#include "env/files.h"
#include "json/read.h"
#include "model/fields.h"

namespace runnel::home {

// A line of the file.
struct VolumePlace {
  std::string name;
  std::string store;  // Empty: the home's own folder, wherever the home is.
};

struct VolumeList {
  std::vector<VolumePlace> volumes;
};

}  // namespace runnel::home

namespace runnel::model {

template <>
struct Fields<home::VolumePlace> {
  static void visit(auto& visit, auto& place) {
    visit("name", place.name, Required());
    visit("store", place.store);
  }
};

template <>
struct Fields<home::VolumeList> {
  static void visit(auto& visit, auto& list) { visit("volumes", list.volumes); }
};

}  // namespace runnel::model

namespace runnel::home {
namespace {

constexpr Duration kLockWait = Duration::seconds(4);

Error damaged(const Home& home, const Error& why) {
  return Error(Errc::kCorrupt, home.volumes_file() + " is damaged: " + why.to_string())
      .with_value(home.volumes_file())
      .with_hint("remove it, and name the stores again with --store");
}

object::StoreUrl own_place(const Home& home) {
  return {.path = home.volumes(), .bucket = {}, .prefix = {}};
}

Result<VolumePlaces> places_in(const Home& home, const std::string& text) {
  const Result<json::Value> json = json::parse(text);
  if (!json.ok()) return damaged(home, json.error());
  const Result<VolumeList> list = model::read_record<VolumeList>(*json);
  if (!list.ok()) return damaged(home, list.error());
  VolumePlaces places;
  for (const VolumePlace& each : list->volumes) {
    const Result<object::StoreUrl> url =
        each.store.empty() ? own_place(home) : object::parse_store_url(each.store);
    if (!url.ok()) return damaged(home, url.error());
    places.emplace(each.name, *url);
  }
  return places;
}

Result<void> change_places(const Home& home, const std::function<void(VolumePlaces&)>& change) {
  TRY(env::make_directories(home.root, env::Access::kOwner));
  const env::FileLock lock =
      TRY(env::FileLock::acquire_within(home.volumes_file() + ".lock", kLockWait));
  VolumePlaces places = TRY(volume_places(home));
  change(places);
  VolumeList list;
  for (const auto& [volume, url] : places) {
    list.volumes.push_back({volume, url == own_place(home) ? "" : url.to_string()});
  }
  return env::write_file_atomically(home.volumes_file(), model::record_text(list),
                                    env::Access::kOwner);
}

}  // namespace

Result<VolumePlaces> volume_places(const Home& home) {
  const Result<std::string> text = env::read_file(home.volumes_file(), Bytes::mebi(16));
  if (!text.ok() && text.error().code == Errc::kNotFound) return VolumePlaces();
  return places_in(home, TRY(Result<std::string>(text)));
}

Result<object::StoreUrl> place_of_volume(const Home& home, const std::string& name,
                                         const std::optional<std::string>& given) {
  if (given) return object::parse_store_url(*given);
  const VolumePlaces places = TRY(volume_places(home));
  if (const auto found = places.find(name); found != places.end()) return found->second;
  return own_place(home);
}

Result<void> remember_volume(const Home& home, const std::string& name,
                             const object::StoreUrl& place) {
  return change_places(home, [&](VolumePlaces& places) { places.insert_or_assign(name, place); });
}

Result<void> forget_volume(const Home& home, const std::string& name, const object::StoreUrl& place,
                           const std::function<bool()>& is_gone) {
  return change_places(home, [&](VolumePlaces& places) {
    const auto found = places.find(name);
    const bool is_it = found != places.end() && found->second == place;
    if (is_it && is_gone()) places.erase(found);
  });
}

}  // namespace runnel::home
