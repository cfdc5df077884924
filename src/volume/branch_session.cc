#include "volume/branch_session.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kBranchBytesMax = 200;
constexpr Duration kBecomesWithin = Duration::seconds(15);  // Half of Session::kTtl.

bool may_be_in_a_name(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// Builds that know none would take its session for one of the dead.
Async<void> tell_of_branches(Volume& volume) {
  if (volume.head().has_feature(kBranches)) co_return {};
  co_return co_await volume.change_head([](const Head& now) -> Result<Head> {
    Head next = now;
    if (!now.has_feature(kBranches)) next.features.emplace_back(kBranches);
    return next;
  });
}

std::vector<SeenBranch> of_name(std::vector<SeenBranch> all, const std::string& name) {
  std::erase_if(all, [&name](const SeenBranch& branch) { return branch.name() != name; });
  return all;
}

// Of all branches that have one of the names; of none: of all.
IsWantedName may_be_of(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::set<std::string, std::less<>> ends;
  for (const std::string& name : names) ends.insert(branch_digits(name));
  return [ends = std::move(ends)](std::string_view session) {
    return session.size() > kBranchDigits &&
           ends.contains(session.substr(session.size() - kBranchDigits));
  };
}

// Sessions of a kind whose source is a branch: of these names, maybe others among them, or all.
Async<std::vector<SeenBranch>> see_all(Volume& volume, std::string kind,
                                       std::vector<std::string> names) {
  std::vector<SeenBranch> all;
  for (SeenSession& session :
       CO_TRY(co_await see_sessions(volume.store(), volume.prefix(), {}, may_be_of(names)))) {
    const bool is_one = session.record && session.record->kind == kind &&
                        !is_of_another_volume(*session.record, volume.head().uuid);
    if (is_one) all.push_back({std::move(session)});
  }
  std::ranges::sort(all, [](const SeenBranch& one, const SeenBranch& other) {
    return std::tie(one.name(), one.session.key) < std::tie(other.name(), other.session.key);
  });
  co_return all;
}

Async<std::vector<SeenBranch>> see_named(Volume& volume, std::string kind, std::string name) {
  co_return of_name(CO_TRY(co_await see_all(volume, std::move(kind), {name})), name);
}

Error is_anothers(const Volume& volume, const BranchWriting& writing, const char* why) {
  return Error(Errc::kConflict,
               "branch '" + writing.name + "' of volume '" + volume.name() + "' " + why)
      .with_field("branch")
      .with_value(writing.name);
}

// What a late request has brought back may have lost what it pins.
Async<bool> is_whole(Volume& volume, const SessionRecord& branch) {
  const std::vector<std::string> pins{branch.base, branch.pin};
  for (const std::string& pin : pins) {
    if (!pin.empty() && !CO_TRY(co_await volume.pinned_manifest(pin))) co_return false;
  }
  co_return true;
}

// Of several of a name, of which late requests have brought back all but one: that which was
// written most.
SeenBranch best_of(std::vector<SeenBranch> branches) {
  CHECK(!branches.empty(), "the best of none is asked for");
  return *std::ranges::max_element(branches, {}, [](const SeenBranch& branch) {
    const SessionRecord& record = branch.record();
    return std::tuple(record.publishes, record.sealed, record.term);
  });
}

// Removes the volume's branch, unless somebody goes on with it by now.
Async<void> give_up(Volume& volume) {
  std::optional<SeenSession> mine = CO_TRY(co_await volume.see_session(volume.session_name()));
  const bool is_mine =
      mine && mine->record && mine->record->owner == volume.session().session().record().owner;
  if (is_mine) (void)CO_TRY(co_await remove_session(volume.store(), *std::move(mine), {}));
  co_return {};
}

SessionRecord session_of(const Volume& volume, const BranchWriting& writing, const char* kind) {
  SessionRecord who = volume.processes().this_one(kind);
  who.source = writing.name;
  who.term = writing.term;
  return who;
}

// Ends others that are about to become the branch. False: one of them has become it by then.
Async<bool> end_others(Volume& volume, std::string name) {
  for (SeenBranch& other : CO_TRY(co_await see_named(volume, kNewBranchKind, name))) {
    if (other.session.key == volume.session().session().key()) continue;
    if (!CO_TRY(co_await remove_branch(volume, std::move(other)))) co_return false;
  }
  const std::vector<SeenBranch> there = CO_TRY(co_await see_named(volume, kBranchKind, name));
  co_return std::ssize(there) == 0;
}

// Makes a branch of the volume's session, which has begun at that time of the machine's clock,
// unless there is one. Not of one that is as old as one that is taken for dead: a late request may
// have brought it back, and another may remove it. And one that was ended may be there twice.
Async<bool> become_branch(Volume& volume, std::string name, Duration begun) {
  if (!CO_TRY(co_await end_others(volume, name))) co_return false;
  if (volume.boot() - begun > kBecomesWithin) co_return false;
  CO_TRY(co_await volume.become_branch());
  const std::vector<SeenBranch> there = CO_TRY(co_await see_named(volume, kBranchKind, name));
  co_return there.size() == 1;
}

// Makes the branch. False when somebody else does, too.
Async<bool> make(Volume& volume, const BranchWriting& writing) {
  const Duration begun = volume.boot();
  CO_TRY(co_await volume.begin_writing(session_of(volume, writing, kNewBranchKind)));
  const Result<bool> is_made = co_await become_branch(volume, writing.name, begun);
  if (is_made.ok() && *is_made) co_return true;
  const Result<void> given_up = co_await give_up(volume);
  volume.leave_session();
  const bool was_ended = !is_made.ok() && is_made.error().code == Errc::kConflict;
  if (!is_made.ok() && !was_ended) co_return is_made;
  CO_TRY(Result<void>(given_up));
  co_return false;
}

Async<bool> go_on(Volume& volume, const BranchWriting& writing, SeenBranch branch) {
  const bool goes_back = writing.from_base && branch.record().term < writing.term;
  const auto has = goes_back ? Session::BranchHas::kItsBase : Session::BranchHas::kWhatItHad;
  return volume.go_on_with_branch(session_of(volume, writing, kBranchKind),
                                  std::move(branch.session), has);
}

// Those that have what they pin: what a late request has brought back may have lost it.
Async<std::vector<SeenBranch>> whole_ones(Volume& volume, std::vector<SeenBranch> branches) {
  std::vector<SeenBranch> whole;
  for (SeenBranch& branch : branches) {
    if (CO_TRY(co_await is_whole(volume, branch.record()))) {
      whole.push_back(std::move(branch));
    } else {
      (void)CO_TRY(co_await remove_branch(volume, std::move(branch)));
    }
  }
  co_return whole;
}

}  // namespace

Result<void> check_branch_name(const std::string& name) {
  const bool is_one = !name.empty() && name.size() <= kBranchBytesMax &&
                      std::ranges::all_of(name, may_be_in_a_name);
  if (is_one) return {};
  return Error(Errc::kInvalid,
               "the name of a branch has 1 to 200 letters, digits, '-', '_' and '.'")
      .with_field("branch")
      .with_value(name);
}

Async<void> begin_branch(Volume& volume, BranchWriting writing) {
  CO_TRY(check_branch_name(writing.name));
  for (int tries = 0; tries < HeadRegister::kTriesMax; ++tries) {
    CO_TRY(co_await volume.refresh());
    CO_TRY(co_await tell_of_branches(volume));
    std::vector<SeenBranch> before = CO_TRY(
        co_await whole_ones(volume, CO_TRY(co_await see_named(volume, kBranchKind, writing.name))));
    if (before.empty() && !writing.is_new) co_return is_anothers(volume, writing, "is no more");
    const auto is_later = [&writing](const SeenBranch& branch) {
      return branch.record().term > writing.term;
    };
    if (std::ranges::any_of(before, is_later)) {
      co_return is_anothers(volume, writing, "is written by somebody else by now");
    }
    const bool has_begun =
        before.empty() ? CO_TRY(co_await make(volume, writing))
                       : CO_TRY(co_await go_on(volume, writing, best_of(std::move(before))));
    if (has_begun) co_return {};
  }
  co_return Error(Errc::kUnavailable, "branch '" + writing.name + "' of volume '" + volume.name() +
                                          "' is begun by others, too")
      .with_field("branch")
      .with_value(writing.name)
      .with_hint("try again");
}

Async<Snapshot> snapshot_of_branch(Volume& volume) {
  CHECK(volume.has_branch(), "a volume's branch is asked for that has none");
  co_return co_await volume.pinned_snapshot(volume.session().session().record().pin);
}

Async<Manifest> publish_in_branch(Volume& volume, const Edit& edit, const NewChunks& chunks,
                                  std::int64_t packed, bool sealed) {
  Snapshot base = CO_TRY(co_await snapshot_of_branch(volume));
  EditedIndex index =
      CO_TRY(co_await apply(base, volume.session().session().nonces(), edit, chunks));
  Manifest manifest =
      CO_TRY(co_await volume.put_index(base.manifest(), std::move(index), packed, ""));
  CO_TRY(co_await volume.publish_in_branch(manifest, sealed));
  co_return manifest;
}

Async<std::vector<SeenBranch>> see_branches(Volume& volume) {
  return see_all(volume, kBranchKind, {});
}

Async<SeenBranch> find_branch(Volume& volume, std::string name) {
  std::vector<SeenBranch> found = CO_TRY(co_await find_branches(volume, {std::move(name)}));
  co_return std::move(found.front());
}

namespace {

Error no_branch(const Volume& volume, const std::string& name) {
  return Error(Errc::kNotFound, "volume '" + volume.name() + "' has no branch '" + name + "'")
      .with_field("branch")
      .with_value(name)
      .with_hint("see them: runnel volume branches " + volume.name());
}

}  // namespace

Async<std::vector<SeenBranch>> find_branches(Volume& volume, std::vector<std::string> names) {
  const std::vector<SeenBranch> all = CO_TRY(co_await see_all(volume, kBranchKind, names));
  std::vector<SeenBranch> found;
  found.reserve(names.size());
  for (const std::string& name : names) {
    std::vector<SeenBranch> of_this = of_name(all, name);
    if (of_this.empty()) co_return no_branch(volume, name);
    found.push_back(best_of(std::move(of_this)));
  }
  co_return found;
}

Async<bool> mark_merged(Volume& volume, SeenBranch branch, std::string version) {
  SessionRecord record = branch.record();
  record.merged = std::move(version);
  record.owner.clear();  // Whoever wrote it says nothing more.
  const std::string text = encode_session(record);
  const Result<std::string> put =
      co_await volume.store().put(branch.session.key, object::make_body(text),
                                  object::Condition::matches(branch.session.etag), {});
  if (put.ok()) co_return true;
  const bool has_changed =
      put.error().code == Errc::kPrecondition || put.error().code == Errc::kNotFound;
  if (!has_changed) co_return put.error();
  // A store that repeats a request by itself refuses the second one of a put that was done.
  const auto there = CO_TRY(co_await see_session(volume.store(), branch.session.key, {}));
  co_return there && there->bytes == text;
}

Async<bool> remove_branch(Volume& volume, SeenBranch branch) {
  return remove_session(volume.store(), std::move(branch.session), {});
}

}  // namespace runnel::volume
