#include "volume/tag.h"

#include <algorithm>

namespace runnel::volume {
namespace {

constexpr std::size_t kTagBytesMax = 63;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_an_id(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

Result<void> check_tag(const std::string& tag) {
  const auto allowed = [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
  };
  const bool is_one = !tag.empty() && tag.size() <= kTagBytesMax && tag != "latest" &&
                      std::all_of(tag.begin(), tag.end(), allowed) &&
                      !std::all_of(tag.begin(), tag.end(), is_of_an_id);
  if (is_one) return {};
  return Error(Errc::kInvalid,
               "a tag has 1 to 63 letters, digits, '-', '_' and '.', is not 'latest', and could "
               "not be the beginning of an id, which has 0-9 and a-f alone")
      .with_field("tag")
      .with_value(tag);
}

Error is_taken(const std::string& tag, const std::string& version, const char* hint) {
  return Error(Errc::kConflict, "version " + version + " has the tag '" + tag + "'")
      .with_field("tag")
      .with_value(tag)
      .with_hint(hint);
}

Error is_full(const Volume& volume) {
  return Error(Errc::kFull, "a volume has at most " + std::to_string(Head::kTagsMax) + " tags")
      .with_hint("remove one: runnel volume tag " + volume.name() + " TAG --delete");
}

}  // namespace

Async<std::string> set_tag(Volume& volume, std::string version, std::string tag, bool move) {
  CO_TRY(check_tag(tag));
  const VersionPlace place = CO_TRY(volume.place_of(version));
  CO_TRY(co_await volume.change_head([&](const Head& now) -> Result<Head> {
    const auto found = now.tags.find(tag);
    const bool is_new = found == now.tags.end();
    if (!is_new && found->second.version != place.version && !move) {
      return is_taken(tag, found->second.version, "move it: --force");
    }
    if (is_new && now.tags.size() >= Head::kTagsMax) return is_full(volume);
    const VersionPlace* const there = now.find(place.version);
    if (there == nullptr) return was_dropped(place.version);
    Head next = now;
    next.tags[tag] = *there;
    return next;
  }));
  co_return place.version;
}

Async<std::string> take_snapshot(Volume& volume, std::string tag) {
  CO_TRY(check_tag(tag));
  std::string version;
  CO_TRY(co_await volume.change_head([&](const Head& now) -> Result<Head> {
    if (const auto found = now.tags.find(tag); found != now.tags.end()) {
      return is_taken(tag, found->second.version, "choose another one; `tag --force` moves it");
    }
    if (now.tags.size() >= Head::kTagsMax) return is_full(volume);
    if (now.newest() == nullptr) {
      return Error(Errc::kNotFound, "volume " + volume.name() + " has no version yet")
          .with_value(volume.name());
    }
    version = now.newest()->version;
    Head next = now;
    next.tags[tag] = *now.newest();
    return next;
  }));
  co_return version;
}

Async<void> remove_tag(Volume& volume, std::string tag) {
  co_return co_await volume.change_head([&](const Head& now) -> Result<Head> {
    Head next = now;
    if (next.tags.erase(tag) > 0) return next;
    return Error(Errc::kNotFound, "no version has the tag '" + tag + "'")
        .with_value(tag)
        .with_hint("see the tags: runnel volume versions " + volume.name());
  });
}

}  // namespace runnel::volume
