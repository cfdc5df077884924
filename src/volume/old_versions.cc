#include "volume/old_versions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace runnel::volume {
namespace {

// The newest one, or one that has a tag.
bool always_stays(const Head& head, const VersionPlace& place) {
  CHECK(!head.recent.empty(), "a version is of a head that has some");
  return place == head.recent.front() ||
         std::any_of(head.tags.begin(), head.tags.end(),
                     [&](const auto& tag) { return tag.second.key == place.key; });
}

// Compaction gives the newest version another manifest: who has held it since before holds the
// version all the same.
std::vector<SessionRecord> holders_of(const std::string& version,
                                      const std::vector<SessionRecord>& sessions) {
  std::vector<SessionRecord> holders;
  std::copy_if(sessions.begin(), sessions.end(), std::back_inserter(holders),
               [prefix = manifest_key(version, "")](const SessionRecord& session) {
                 return session.pin.starts_with(prefix) || session.base.starts_with(prefix);
               });
  return holders;
}

struct Published {
  VersionPlace place;
  Manifest manifest;
  Time time;  // By the clock of who published it; mended, where that cannot be.
};

// Each was published after those behind it, and before now. One whose clock says otherwise counts
// as published with the next one whose clock does not, or now.
void mend_times(std::vector<Published>& all, Time now) {
  Time latest = Time::from_millis(INT64_MIN);
  std::vector<bool> is_wrong(all.size());
  for (std::size_t index = all.size(); index-- > 0;) {
    is_wrong[index] = all[index].time < latest || all[index].time > now;
    if (!is_wrong[index]) latest = all[index].time;
  }
  Time next = now;
  for (std::size_t index = 0; index < all.size(); ++index) {
    if (is_wrong[index]) all[index].time = next;
    next = all[index].time;
  }
}

// What the head has, newest first.
Async<std::vector<Published>> published(Volume& volume, const Head& head, Time now) {
  std::vector<Published> all;
  for (const VersionPlace& place : head.recent) {
    const Result<Manifest> manifest = co_await volume.manifest_at(place);
    if (!manifest.ok() && manifest.error().code == Errc::kNotFound) continue;  // Dropped by now.
    CO_TRY(Result<Manifest>(manifest));
    all.push_back({place, *manifest, manifest->time});
  }
  mend_times(all, now);
  co_return all;
}

}  // namespace

Async<std::vector<OldVersion>> old_versions(Volume& volume, Time now, Duration keep,
                                            std::vector<SessionRecord> sessions) {
  const Head head = volume.head();
  std::vector<Published> all = CO_TRY(co_await published(volume, head, now));
  std::vector<OldVersion> old;
  for (std::size_t index = 1; index < all.size(); ++index) {
    const auto& [place, manifest, time] = all[index];
    if (always_stays(head, place) || all[index - 1].time > now - keep) continue;
    old.push_back(
        {place.version, manifest.time, manifest.totals.files, holders_of(place.version, sessions)});
  }
  co_return old;
}

Head without(Head head, const std::set<std::string>& versions) {
  const Head before = head;
  std::erase_if(head.recent, [&](const VersionPlace& place) {
    return versions.contains(place.version) && !always_stays(before, place);
  });
  return head;
}

}  // namespace runnel::volume
