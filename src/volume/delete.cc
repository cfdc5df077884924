#include "volume/delete.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "volume/clone.h"
#include "volume/object_id.h"
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

// What a late reader of a clone needs is kept by the origin for as long as the head names it. The
// last list of garbage stays in the head, which the next call removes if this one is killed.
Result<Head> gone(const Head& now, const std::string& volume) {
  if (now.is_gone) return now;
  const bool is_swept = now.condemned.empty() || now.swept;
  if (!is_swept) return in_use(volume, "somebody else deletes it").with_hint("run it again");
  Head next;
  next.uuid = now.uuid;
  next.features = {std::string(kDeleted)};
  next.collections = now.collections;
  next.condemned = now.condemned;
  next.swept = true;
  next.is_gone = true;
  return next;
}

// Objects that are neither its head nor a session nor a list of garbage.
Async<bool> has_content(Volume& volume, async::StopToken stop) {
  for (const char* kind : {"p/", "i/", "v/"}) {
    if (CO_TRY(co_await has_objects(volume.store(), volume.prefix(), kind, stop))) co_return true;
  }
  co_return false;
}

// Until nothing is left: what a session held when gc looked is left by it, also when it has ended
// since.
Async<DeleteResult> empty(async::EventLoop& loop, env::Clock& clock, Volume& volume,
                          DeleteOptions options, async::StopToken stop) {
  constexpr int kRoundsMax = 5;
  DeleteResult result;
  for (int round = 0; round < kRoundsMax; ++round) {
    GcOptions of_all{.wait = options.wait, .make_room = options.make_room};
    const GcResult garbage =
        CO_TRY(co_await collect_garbage(loop, clock, volume, std::move(of_all), stop));
    result.objects += garbage.objects;
    result.bytes += garbage.bytes;
    CO_TRY(co_await volume.refresh());
    CO_TRY(co_await check_unused(volume, stop));
    if (!CO_TRY(co_await has_content(volume, stop))) co_return result;
  }
  co_return in_use(volume.name(), "somebody puts objects still").with_hint("run it again");
}

}  // namespace

Async<void> check_unused(Volume& volume, async::StopToken stop) {
  CO_TRY(check_no_clones(volume.head(), volume.name()));
  // Nobody has ever opened it: what sessions there are is left of a volume that had the name.
  const bool is_nobodys =
      !volume.head().is_deleted() &&
      CO_TRY(co_await came_to_nothing(volume.store(), volume.random(), volume.head(), stop));
  if (is_nobodys) co_return {};
  std::string owners;
  bool has_branch = false;
  for (const SeenSession& session :
       CO_TRY(co_await see_sessions(volume.store(), volume.prefix(), std::move(stop)))) {
    const bool is_of_nobody =
        session.is_probe ||
        (session.record && (volume.processes().has_ended(*session.record) ||
                            is_of_another_volume(*session.record, volume.head().uuid)));
    if (is_of_nobody) continue;
    has_branch = has_branch || (session.record && session.record->kind == kBranchKind);
    owners += (owners.empty() ? "" : ", ") + owner_of(session);
  }
  if (owners.empty()) co_return {};
  if (has_branch && !volume.head().is_deleted()) {
    co_return in_use(volume.name(), owners)
        .with_hint("merge its branches, or drop them: runnel volume branches " + volume.name());
  }
  co_return in_use(volume.name(), owners)
      .with_hint(volume.head().is_deleted()
                     ? "nobody can begin to use it any more; run it again when these have ended"
                     : "of processes that are no more, on other machines: runnel volume gc " +
                           volume.name());
}

Async<DeleteResult> delete_volume(async::EventLoop& loop, env::Clock& clock, Volume& volume,
                                  DeleteOptions options, async::StopToken stop) {
  if (!volume.head().is_deleted()) CO_TRY(co_await check_unused(volume, stop));
  CO_TRY(co_await volume.change_head(
      [&volume](const Head& now) { return deleted(now, volume.name()); }));
  DeleteResult result = CO_TRY(co_await empty(loop, clock, volume, std::move(options), stop));
  const Head last = volume.head();
  CO_TRY(
      co_await volume.change_head([&volume](const Head& now) { return gone(now, volume.name()); }));
  const std::string condemned = volume.head().condemned;
  if (!condemned.empty()) CO_TRY(co_await volume.store().remove(volume.prefix() + condemned, stop));
  // A copy of a clone has the promise of that one.
  const bool has_promise = !last.bases.empty() && last.own_name == volume.name();
  if (has_promise) {
    const Result<void> released =
        co_await release_promise(volume.store(), volume.random(), last, stop);
    (void)released;  // It is deleted all the same; gc of the origin finds that, too.
  }
  co_return result;
}

}  // namespace runnel::volume
