#include "volume_sim/oracle.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "volume/condemned.h"
#include "volume/session.h"

namespace runnel::volume_sim {
namespace {

// Whether another volume may have its place.
bool is_free(const volume::Head& head, bool is_alive) {
  const bool is_unmade_clone = !head.bases.empty() && !head.is_made && !is_alive;
  return head.is_gone || is_unmade_clone;
}

std::string below(const std::string& key) { return key.substr(key.find('/') + 1); }

std::string version_of(const std::string& uuid, const std::string& version) {
  return uuid + " " + version;
}

// Whether it is a branch, which somebody may go on with at any time.
bool is_branch(const Bucket::Stored* session) {
  if (session == nullptr) return false;
  const Result<volume::SessionRecord> record = volume::decode_session(*session->bytes);
  return record.ok() && record->kind == volume::kBranchKind;
}

// Whether its owner is taken for dead.
bool has_been_ended(const Bucket::Stored* session) {
  if (session == nullptr) return false;
  const Result<volume::SessionRecord> record = volume::decode_session(*session->bytes);
  return record.ok() && record->kind == volume::kEndedKind;
}

}  // namespace

Oracle::Oracle(const Agenda& agenda, const Bucket& bucket)
    : agenda_(agenda), bucket_(bucket), reach_(bucket) {}

void Oracle::found_wrong(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

// --- What is needed.

const volume::Head* Oracle::head_of(const std::string& volume) const {
  const auto found = heads_.find(volume);
  return found == heads_.end() ? nullptr : &found->second;
}

bool Oracle::is_alive(const std::string& volume) const {
  const volume::Head* const head = head_of(volume);
  if (head == nullptr || head->is_deleted()) return false;
  if (head->bases.empty() || head->is_made) return true;
  const volume::Head* const origin = head_of(head->bases.front());
  if (origin == nullptr) return false;
  const auto promised = origin->clones.find(volume);
  return promised != origin->clones.end() && promised->second.nonce == head->promise &&
         promised->second.is_made;
}

std::vector<Oracle::Rooted> Oracle::roots_of(const std::string& volume) const {
  std::vector<Rooted> found;
  if (!is_alive(volume)) return found;
  const volume::Head& head = *head_of(volume);
  for (const volume::VersionPlace& place : head.recent) {
    found.push_back({volume + "/" + place.key, head.bases, place == head.recent.front()});
  }
  for (const auto& [name, place] : head.tags) {
    found.push_back({volume + "/" + place.key, head.bases, false});
  }
  return found;
}

std::vector<Oracle::Rooted> Oracle::roots() const {
  std::vector<Rooted> all;
  for (const auto& [volume, head] : heads_) {
    std::vector<Rooted> found = roots_of(volume);
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  for (const auto& [session, root] : held_) all.push_back(root);
  for (const auto& [session, pins] : branches_) all.insert(all.end(), pins.begin(), pins.end());
  return all;
}

const Oracle::Keys& Oracle::reach(const Rooted& root) {
  static const Keys kNothing;
  const Result<const Keys*> found = reach_.of(root.key, root.bases, root.with_chunks);
  if (found.ok()) return **found;
  found_wrong("1: " + root.key + " is not whole: " + found.error().to_string());
  return kNothing;
}

bool Oracle::may_stay(const std::string& key) {
  std::vector<Rooted> all = roots();
  for (const auto& [volume, head] : heads_) {
    for (const auto& [name, clone] : head.clones) {
      all.push_back({volume + "/" + clone.place.key, head.bases, clone.has_chunks});
    }
  }
  return std::any_of(all.begin(), all.end(),
                     [&](const Rooted& root) { return reach(root).contains(key); });
}

// --- What changes.

void Oracle::changes(const Bucket::Change& change) {
  if (change.after == nullptr) return check_removal(change);
  const std::string kind = below(change.key);
  if (kind == "head") check_head(volume_of(change.key), *change.after->bytes, change.process);
  if (kind.starts_with("s/")) check_session(change);
}

void Oracle::check_session(const Bucket::Change& change) {
  const auto [owner, is_first] = owners_.emplace(change.key, change.process);
  const bool comes_back = change.before == nullptr && !is_first;
  const bool was_still =
      change.before != nullptr && agenda_.now() - change.before->changed >= volume::Session::kTtl;
  if (comes_back || was_still) stood_still_[change.key] = agenda_.now();
  if (comes_back) brought_back_.insert(change.key);
  check_branch(change);
  if (has_been_ended(change.after)) {
    ended_.insert(change.key);
    return check_taken_for_dead(change);
  }
  if (has_been_ended(change.before)) found_wrong("4: " + change.key + " is alive again");
  if (comes_back)
    owner->second = change.process;  // By a request of its first owner that came late.
  if (owner->second == change.process) return;
  const bool may_be_taken = dead_.contains(owner->second) || is_branch(change.before);
  if (!may_be_taken) found_wrong("4: " + change.key + " is taken from its owner");
  owner->second = change.process;
  ++resumptions_;
}

void Oracle::check_head(const std::string& volume, const std::string& text, std::uint64_t process) {
  const volume::Head next = MUST(volume::decode_head(text));
  const volume::Head last = head_of(volume) == nullptr ? volume::Head() : *head_of(volume);
  const bool is_successor = last.uuid == next.uuid;
  const bool has_place = last.uuid.empty() || is_successor || is_free(last, is_alive(volume));
  if (!has_place) return found_wrong("2: the head of " + volume + " is another volume's");
  made_.insert(next.uuid);
  if (is_successor) check_successor(volume, last, next);
  if (is_successor) check_lease(volume, last, next, process);
  const bool is_clone = !is_successor && next.newest() != nullptr;
  if (is_clone) versions_.insert(version_of(next.uuid, next.newest()->version));
  heads_[volume] = next;
  check_promises(volume, last);
  check_versions(volume);
  for (const auto& [name, clone] : next.clones) {
    const auto before = last.clones.find(name);
    const bool was_made = before != last.clones.end() && before->second.is_made;
    if (!clone.is_made || was_made) continue;
    ++clones_;
    check_versions(name);
  }
  if (is_successor && next.collections != last.collections) check_list(volume, last, next);
}

void Oracle::check_lease(const std::string& volume, const volume::Head& last,
                         const volume::Head& next, std::uint64_t process) {
  const std::string key = volume + "/s/" + last.lease.session;
  const auto owner = owners_.find(key);
  const bool is_held = !last.lease.session.empty() && bucket_.find(key) != nullptr &&
                       !ended_.contains(key) && owner != owners_.end() &&
                       !dead_.contains(owner->second);
  if (!is_held || owner->second == process) return;
  if (last.newest_version() != next.newest_version()) {
    found_wrong("7: a version is published beside the holder of the lease");
  }
  if (last.lease != next.lease) found_wrong("7: a lease is taken from its holder");
}

void Oracle::check_successor(const std::string& volume, const volume::Head& last,
                             const volume::Head& next) {
  if (next.generation != last.generation + 1) found_wrong("2: a generation is left out");
  if (last.is_deleted() && !next.is_deleted()) found_wrong("2: a deleted volume comes back");
  const bool is_deleted_now = next.is_deleted() && !last.is_deleted();
  if (is_deleted_now && !last.clones.empty()) found_wrong("2: a volume with clones is deleted");
  const bool has_versions = !next.recent.empty() || !next.tags.empty();
  if (next.is_deleted() && has_versions) found_wrong("2: a deleted volume has a version");
  if (next.is_gone && !last.is_gone) ++deletions_;
  if (next.is_gone) gone_.insert(next.uuid);
  if (next.newest() == nullptr) return;
  const std::string over = last.newest_version();
  const Bucket::Stored* const stored = bucket_.find(volume + "/" + next.newest()->key);
  if (next.newest()->version == over || stored == nullptr) return;
  const volume::Manifest manifest = MUST(volume::decode_manifest(*stored->bytes));
  if (manifest.parent != over) return found_wrong("2: a version comes of an older one");
  versions_.insert(version_of(next.uuid, manifest.version));
  ++publishes_;
}

void Oracle::check_promises(const std::string& volume, const volume::Head& last) {
  const volume::Head& now = heads_.at(volume);
  for (const auto& [name, clone] : last.clones) {
    const auto kept = now.clones.find(name);
    const bool is_kept = kept != now.clones.end() && kept->second.nonce == clone.nonce;
    const volume::Head* const there = head_of(name);
    const bool is_needed = there != nullptr && !there->bases.empty() && there->is_made &&
                           there->bases.front() == volume && there->promise == clone.nonce;
    if (is_needed && !is_kept) found_wrong("2: the promise to the clone " + name + " is broken");
  }
}

void Oracle::check_versions(const std::string& volume) {
  for (const Rooted& root : roots_of(volume)) check_reach(root);
}

void Oracle::check_reach(const Rooted& root) {
  for (const std::string& key : reach(root)) {
    if (bucket_.find(key) == nullptr) {
      return found_wrong("1: " + root.key + " refers to " + key + ", which is not there");
    }
    if (removed_.contains(key)) {
      return found_wrong("3: " + root.key + " refers to " + key + ", which was deleted");
    }
  }
}

volume::Condemned Oracle::list_of(const std::string& volume, const volume::Head& head) const {
  const Bucket::Stored* const list = bucket_.find(volume + "/" + head.condemned);
  return list == nullptr ? volume::Condemned() : MUST(volume::decode_condemned(*list->bytes));
}

void Oracle::check_list(const std::string& volume, const volume::Head& last,
                        const volume::Head& next) {
  ++collections_;
  const volume::Condemned condemned = list_of(volume, next);
  if (condemned.keys.empty()) return found_wrong("1: a list of garbage is not there");
  // Of a volume that is gone nobody needs anything, and its last list goes, too.
  if (!last.is_gone) {
    check_living(volume, last.collections, list_of(volume, last), condemned);
  }
  for (const Rooted& root : roots()) {
    const Keys& needed = reach(root);
    for (const std::string& key : condemned.keys) {
      if (!needed.contains(volume + "/" + key)) continue;
      return found_wrong("1: " + volume + "/" + key + " is condemned and needed by " + root.key);
    }
  }
}

// Sessions as they are now: since gc has seen them they may have ended, or have looked.
void Oracle::check_living(const std::string& volume, std::int64_t collections,
                          const volume::Condemned& last, const volume::Condemned& next) {
  for (const auto& [tag, pin] : next.live) {
    const std::string key = volume + "/s/" + tag;
    const auto session = bucket_.objects().lower_bound(key);
    if (session == bucket_.objects().end() || !session->first.starts_with(key)) continue;
    const Result<volume::SessionRecord> record = volume::decode_session(*session->second.bytes);
    const bool has_looked = !record.ok() || record->kind == volume::kBranchKind ||
                            record->pin != pin || record->collections >= collections;
    if (has_looked || last.has_live(tag, pin)) continue;
    return found_wrong("6: " + session->first + " was passed over and is alive again");
  }
}

void Oracle::check_removal(const Bucket::Change& change) {
  const std::string kind = below(change.key);
  if (kind == "head") return found_wrong("1: the head of a volume is removed");
  if (kind.starts_with("s/")) return check_session_removal(change);
  for (const Rooted& root : roots()) {
    if (!reach(root).contains(change.key)) continue;
    return found_wrong("1: " + change.key + " is removed and needed by " + root.key);
  }
  removed_.insert(change.key);
}

// A branch has become what it says, and says what is whole from then on.
void Oracle::check_branch(const Bucket::Change& change) {
  branches_.erase(change.key);
  const std::string volume = volume_of(change.key);
  const volume::Head* const head = head_of(volume);
  const Result<volume::SessionRecord> record = volume::decode_session(*change.after->bytes);
  const bool is_one = record.ok() && record->kind == volume::kBranchKind && is_alive(volume) &&
                      !brought_back_.contains(change.key);
  if (!is_one) return;
  std::vector<Rooted>& pins = branches_[change.key];
  if (!record->pin.empty()) pins.push_back({volume + "/" + record->pin, head->bases, true});
  if (!record->base.empty()) pins.push_back({volume + "/" + record->base, head->bases, false});
  for (const Rooted& pin : pins) check_reach(pin);
}

// By whoever may end what is a branch, or about to be one.
void Oracle::check_end_of_branch(const Bucket::Change& change) {
  const bool is_void = brought_back_.contains(change.key);
  if (is_void || enders_.contains(change.process)) return;
  found_wrong("9: gc ends branch " + change.key);
}

void Oracle::check_session_removal(const Bucket::Change& change) {
  held_.erase(change.key);
  branches_.erase(change.key);
  // A probe says nothing.
  const bool has_record = volume::decode_session(*change.before->bytes).ok();
  if (!has_record) return check_taken_for_dead(change);
  // One that was put once more by a late request is removed by another one, whoever has taken it
  // over meanwhile: that is told so.
  const bool is_owners = owners_[change.key] == change.process;
  const bool has_ended = !ended_.insert(change.key).second;
  if (!is_owners && !has_ended) {
    found_wrong("4: " + change.key + " is removed while it lives");
  }
}

void Oracle::check_taken_for_dead(const Bucket::Change& change) {
  const std::string& key = change.key;
  if (is_branch(change.before) || enders_.contains(change.process))
    return check_end_of_branch(change);
  const bool is_owners = owners_[key] == change.process || dead_.contains(owners_[key]);
  // Up to a while ago: who says so may have been stopped since, for two minutes at most, and the
  // word have been on its way.
  constexpr Duration kOnItsWay = Duration::minutes(3);
  const bool stood_still =
      agenda_.now() - change.before->changed >= volume::Session::kTtl ||
      (stood_still_.contains(key) && agenda_.now() - stood_still_[key] < kOnItsWay);
  if (!is_owners && !stood_still) found_wrong("4: " + key + " is taken for dead while it lives");
}

// --- What processes were told and saw.

void Oracle::holds(const std::string& session, const std::string& manifest_key) {
  if (bucket_.find(session) == nullptr) return;
  const volume::Head* const head = head_of(volume_of(manifest_key));
  CHECK(head != nullptr, "a version that is held is of a volume that there was");
  held_[session] = {manifest_key, head->bases, false};
}

void Oracle::lets_go(const std::string& session) { held_.erase(session); }

void Oracle::told_published(const volume::Manifest& manifest) {
  if (versions_.contains(version_of(manifest.uuid, manifest.version))) return;
  found_wrong("2: version " + manifest.version + " was never the newest");
}

void Oracle::told_made(const std::string& uuid) {
  if (!made_.contains(uuid)) found_wrong("2: there was never a volume " + uuid);
}

void Oracle::told_deleted(const std::string& uuid) {
  if (!gone_.contains(uuid)) found_wrong("2: volume " + uuid + " was not deleted");
}

void Oracle::told_dropped(const std::string& volume, const std::string& uuid,
                          const std::string& version) {
  const volume::Head* const head = head_of(volume);
  const bool is_it = head != nullptr && head->uuid == uuid && !head->is_deleted();
  if (is_it && head->find(version) != nullptr) {
    found_wrong("8: version " + version + " was called dropped, and is in the head");
  }
}

void Oracle::saw(const std::string& version, const Files& files) {
  const auto [known, is_first] = files_.emplace(version, files);
  if (!is_first && known->second != files) found_wrong("5: version " + version + " has changed");
}

void Oracle::check_deleted(const std::string& volume) {
  for (const auto& [key, stored] : bucket_.objects()) {
    const bool is_left = volume_of(key) == volume && below(key) != "head";
    if (is_left) return found_wrong("7: " + key + " is left of a deleted volume");
  }
}

void Oracle::check_end() {
  for (const auto& [key, stored] : bucket_.objects()) {
    const volume::Head* const head = head_of(volume_of(key));
    const bool is_kept = head != nullptr && (below(key) == "head" || below(key) == head->condemned);
    if (is_kept || may_stay(key)) continue;
    return found_wrong("7: " + key + " is left behind");
  }
}

}  // namespace runnel::volume_sim
