#include "volume/rearrange.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "volume/kept_session.h"
#include "volume/tree_edit.h"

namespace runnel::volume {
namespace {

using Path = std::vector<std::string>;

bool begins_with(const Path& path, const Path& begin) {
  return path.size() >= begin.size() && std::equal(begin.begin(), begin.end(), path.begin());
}

// What is at `from` may go to `to`.
Result<void> check_apart(const Path& from, const Path& to) {
  const std::string what = from.empty() ? "the root" : "'" + path_text(from) + "'";
  if (from == to) {
    return Error(Errc::kInvalid, what + " is there already: both are the same")
        .with_value(path_text(to));
  }
  if (!begins_with(to, from)) return {};
  return Error(Errc::kInvalid, what + " cannot go into itself")
      .with_value(path_text(to))
      .with_hint("choose a place that is not below it");
}

Edit& entry_at(Edit& root, const Path& path, Time now) {
  return path.empty() ? root : folder_at(root, parent_path(path), now).entries[path.back()];
}

// A version whose chunks a new one takes over, kept from gc until that is published.
SessionRecord taker(const Volume& volume, const char* kind) {
  SessionRecord who = volume.processes().this_one(kind);
  who.writes = true;
  return who;
}

using Rearrange = std::function<Async<Rearranged>(Snapshot&, async::StopToken)>;

Async<Rearranged> from_version(async::EventLoop& loop, Volume& volume, SessionRecord who,
                               std::string version, Rearrange rearrange, async::StopToken stop) {
  Snapshot source = CO_TRY(co_await volume.begin_reading(std::move(who), std::move(version)));
  // What it takes over is of the version that the session pins.
  co_return co_await with_session<Rearranged>(
      loop, volume, [] { return std::set<std::string>(); },
      [&](async::StopToken token) { return rearrange(source, std::move(token)); }, std::move(stop));
}

Async<Rearranged> copy_now(Volume& volume, Snapshot& source, bool is_newest, std::string from,
                           std::string to, std::string message, async::StopToken stop) {
  const Path origin = CO_TRY(path_parts(from));
  Snapshot::Found found = CO_TRY(co_await source.at(from));
  Snapshot newest = CO_TRY(co_await volume.snapshot("latest"));
  const std::string name = origin.empty() ? "" : origin.back();
  const Path place = CO_TRY(co_await place_in(newest, to, name));
  if (is_newest) CO_TRY(check_apart(origin, place));
  Edit root = Edit::folder();
  entry_at(root, place, volume.wall()) =
      CO_TRY(co_await edit_of(source, std::move(found), std::move(stop)));
  Manifest made = CO_TRY(co_await volume.publish(root, {}, 0, std::move(message)));
  co_return Rearranged{std::move(made), path_text(place)};
}

// Folders on the way to what is restored have the attributes of then, where they are missing.
Async<void> restore_parents(Snapshot& source, Edit& root, Path path) {
  Edit* folder = &root;
  Path above;
  for (const std::string& part : path) {
    above.push_back(part);
    Snapshot::Found found = CO_TRY(co_await source.at(path_text(above)));
    folder = &folder->entries.at(part);
    folder->node = std::move(found.node);
  }
  co_return {};
}

Async<Rearranged> restore_now(Volume& volume, Snapshot& source, std::string from, std::string to,
                              std::string message, async::StopToken stop) {
  const Path origin = CO_TRY(path_parts(from));
  const Path place = CO_TRY(path_parts(to));
  Snapshot::Found found = CO_TRY(co_await source.at(from));
  if (place.empty() && found.node.kind != NodeKind::kFolder) {
    co_return Error(Errc::kInvalid, "the root of a volume is a folder, and '" + from + "' is none")
        .with_value(from)
        .with_hint("say as what it is to come back: NAME:/PATH");
  }
  Edit root = Edit::folder();
  Edit& entry = entry_at(root, place, volume.wall());
  entry = CO_TRY(co_await edit_of(source, std::move(found), std::move(stop)));
  make_exact(entry);
  if (origin == place) CO_TRY(co_await restore_parents(source, root, parent_path(place)));
  Manifest made = CO_TRY(co_await volume.publish(root, {}, 0, std::move(message)));
  co_return Rearranged{std::move(made), path_text(place)};
}

}  // namespace

Async<std::vector<std::string>> place_in(Snapshot& newest, std::string to, std::string name) {
  Path place = CO_TRY(path_parts(to));
  bool is_into = to.empty() || to.ends_with('/');
  if (!is_into) {
    const Result<Snapshot::Found> there = co_await newest.at(to);
    if (!there.ok() && there.error().code != Errc::kNotFound) co_return there.error();
    is_into = there.ok() && there->node.kind == NodeKind::kFolder;
  }
  if (is_into && !name.empty()) place.push_back(std::move(name));
  co_return place;
}

Async<Rearranged> move_path(Volume& volume, std::string from, std::string to, std::string message) {
  const Path origin = CO_TRY(path_parts(from));
  if (origin.empty()) {
    co_return Error(Errc::kInvalid, "the root of a volume stays where it is")
        .with_hint("move what is in it, one by one");
  }
  Snapshot newest = CO_TRY(co_await volume.snapshot("latest"));
  CO_TRY(co_await newest.at(from));
  const Path place = CO_TRY(co_await place_in(newest, to, origin.back()));
  CO_TRY(check_apart(origin, place));
  Edit root = Edit::folder();
  entry_at(root, origin, volume.wall()).moved_away = true;
  entry_at(root, place, volume.wall()).moved_from = path_text(origin);
  Manifest made = CO_TRY(co_await volume.publish(root, {}, 0, std::move(message)));
  co_return Rearranged{std::move(made), path_text(place)};
}

Async<Rearranged> copy_path(async::EventLoop& loop, Volume& volume, std::string version,
                            std::string from, std::string to, std::string message,
                            async::StopToken stop) {
  const bool is_newest = version == "latest";
  return from_version(
      loop, volume, taker(volume, "cp"), std::move(version),
      [&volume, is_newest, from = std::move(from), to = std::move(to),
       message = std::move(message)](Snapshot& source, async::StopToken token) {
        return copy_now(volume, source, is_newest, from, to, message, std::move(token));
      },
      std::move(stop));
}

Async<Rearranged> restore_path(async::EventLoop& loop, Volume& volume, std::string version,
                               std::string from, std::string to, std::string message,
                               async::StopToken stop) {
  return from_version(
      loop, volume, taker(volume, "restore"), std::move(version),
      [&volume, from = std::move(from), to = std::move(to), message = std::move(message)](
          Snapshot& source, async::StopToken token) {
        return restore_now(volume, source, from, to, message, std::move(token));
      },
      std::move(stop));
}

}  // namespace runnel::volume
