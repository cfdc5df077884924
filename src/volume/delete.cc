#include "volume/delete.h"

#include <string>
#include <utility>
#include <vector>

#include "volume/seen_session.h"

namespace runnel::volume {
namespace {

Error in_use(const std::string& volume, const std::string& by) {
  return Error(Errc::kConflict, "volume " + volume + " is in use: " + by)
      .with_field("volume")
      .with_value(volume);
}

Result<void> check_no_clones(const Head& head, const std::string& volume) {
  if (head.clones.empty()) return {};
  std::string names;
  for (const auto& [name, clone] : head.clones) names += (names.empty() ? "" : ", ") + name;
  return in_use(volume, "cloned as " + names)
      .with_hint("delete those first; where they are no more: runnel volume gc " + volume);
}

std::string owner_of(const SeenSession& session) {
  if (!session.record) return "somebody whose session is damaged";
  const SessionRecord& record = *session.record;
  return "the " + record.kind + (record.source.empty() ? "" : " of " + record.source) + " (pid " +
         std::to_string(record.pid) + " on " + record.host + ")";
}

// Another may have been made under the name meanwhile.
Result<void> check_same(const Head& now, const Volume& volume, const std::string& uuid) {
  if (now.uuid == uuid) return {};
  return Error(Errc::kConflict, "volume " + volume.name() + " was deleted and made anew meanwhile")
      .with_field("volume")
      .with_value(volume.name());
}

// Nobody reads or writes it from here on: whoever looks at the head is refused.
Result<Head> deleted(const Head& now, const std::string& volume) {
  if (now.is_deleted()) return now;
  TRY(check_no_clones(now, volume));
  Head next = now;
  next.features.emplace_back(kDeleted);
  next.manifest.clear();
  next.manifest_sha256.clear();
  next.recent.clear();
  next.tags.clear();
  return next;
}

// What a late reader of a clone needs is kept by the origin for as long as the head names it.
Head gone(const Head& now) {
  if (now.is_gone) return now;
  Head next;
  next.uuid = now.uuid;
  next.features = {std::string(kDeleted)};
  next.collections = now.collections;
  next.swept = true;
  next.is_gone = true;
  return next;
}

}  // namespace

Async<void> check_unused(Volume& volume, async::StopToken stop) {
  CO_TRY(check_no_clones(volume.head(), volume.name()));
  const SessionRecord here = session_of_this_process("delete");
  std::string owners;
  for (const SeenSession& session :
       CO_TRY(co_await see_sessions(volume.store(), volume.prefix(), std::move(stop)))) {
    if (session.record && has_ended(*session.record, here)) continue;
    owners += (owners.empty() ? "" : ", ") + owner_of(session);
  }
  if (owners.empty()) co_return {};
  co_return in_use(volume.name(), owners)
      .with_hint("of processes that are no more, on other machines: runnel volume gc " +
                 volume.name());
}

Async<DeleteResult> delete_volume(async::EventLoop& loop, env::Clock& clock, Volume& volume,
                                  DeleteOptions options, async::StopToken stop) {
  if (volume.head().is_gone) co_return DeleteResult();
  const std::string uuid = volume.head().uuid;
  if (!volume.head().is_deleted()) CO_TRY(co_await check_unused(volume, stop));
  CO_TRY(co_await volume.change_head([&](const Head& now) -> Result<Head> {
    TRY(check_same(now, volume, uuid));
    return deleted(now, volume.name());
  }));
  GcOptions of_all{.wait = options.wait, .make_room = std::move(options.make_room)};
  const GcResult garbage =
      CO_TRY(co_await collect_garbage(loop, clock, volume, std::move(of_all), stop));
  CO_TRY(co_await volume.refresh());
  const std::string last_list = volume.head().condemned;
  CO_TRY(co_await check_unused(volume, stop));
  CO_TRY(co_await volume.change_head([&](const Head& now) -> Result<Head> {
    TRY(check_same(now, volume, uuid));
    return gone(now);
  }));
  if (!last_list.empty()) {
    CO_TRY(co_await volume.store().remove(volume.prefix() + last_list, stop));
  }
  co_return DeleteResult{garbage.objects, garbage.bytes};
}

}  // namespace runnel::volume
