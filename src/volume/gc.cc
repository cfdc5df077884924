#include "volume/gc.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "async/together.h"
#include "volume/clone.h"
#include "volume/compact.h"
#include "volume/condemned.h"
#include "volume/digits.h"
#include "volume/kept_session.h"
#include "volume/marks.h"
#include "volume/seen_session.h"

namespace runnel::volume {
namespace {

constexpr int kAttemptsMax = 50;  // At condemning, while others swap the head.
constexpr std::size_t kDeletesAtOnce = 32;
constexpr std::size_t kShortList = 1'000;  // Keys, which take some 60 KB.

class Collection {
 public:
  Collection(async::EventLoop& loop, env::Clock& clock, Volume& volume, GcOptions options,
             async::StopToken stop)
      : loop_(loop),
        clock_(clock),
        volume_(volume),
        options_(std::move(options)),
        stop_(std::move(stop)) {}

  Async<GcResult> try_out() {
    Head head = volume_.head();
    if (options_.keep) {
      OldOnes old = CO_TRY(co_await find_old(*options_.keep));
      head = without(std::move(head), versions_of(old.droppable));
      result_.dropped = std::move(old.droppable);
      result_.held = std::move(old.held);
    }
    Garbage garbage = CO_TRY(co_await find_garbage(head));
    CO_TRY(co_await add_what_compaction_leaves(head, garbage));
    count(garbage);
    result_.sessions = std::ssize(ended_);
    co_return std::move(result_);
  }

  Async<GcResult> run() {
    Result<void> done = co_await collect_in_session();
    const bool has_no_room = !done.ok() && done.error().code == Errc::kFull;
    if (has_no_room && options_.make_room && CO_TRY(co_await options_.make_room())) {
      is_full_ = true;
      done = co_await collect_in_session();
    }
    CO_TRY(std::move(done));
    co_return std::move(result_);
  }

 private:
  // A manifest, and how far its chunks: marked without them it has still to be marked with.
  using Mark = std::pair<std::string, Marks::Chunks>;

  // What may go, as of a head.
  struct Garbage {
    Condemned list;
    std::int64_t generation = 0;                // Of the head.
    std::int64_t collections = 0;               // The most that it or a session counts.
    std::map<std::string, std::int64_t> sizes;  // Bytes, by key.
  };

  Async<void> collect_in_session() {
    CO_TRY(co_await volume_.begin_writing(volume_.processes().this_one("gc")));
    const async::StopToken outside = stop_;
    Result<void> done = co_await with_session<void>(
        loop_, volume_, [] { return std::set<std::string>(); },
        [this](async::StopToken token) {
          stop_ = std::move(token);
          return collect();
        },
        outside);
    stop_ = outside;
    co_return done;
  }

  Async<void> collect() {
    CO_TRY(co_await volume_.refresh());
    CO_TRY(co_await sweep());
    CO_TRY(co_await remove_dead_sessions());
    CO_TRY(co_await forget_gone_clones());
    if (options_.keep) CO_TRY(co_await drop_versions(*options_.keep));
    CO_TRY(co_await compact_newest());
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
      CO_TRY(stop_.check());
      CO_TRY(co_await volume_.refresh());
      CO_TRY(co_await sweep());
      const std::int64_t generation = volume_.head().generation;
      Result<Garbage> found = co_await find_garbage(volume_.head());
      if (!found.ok()) {
        // What it was about to look at may have gone with a head that is no more.
        CO_TRY(co_await volume_.refresh());
        if (volume_.head().generation == generation) co_return found.error();
        continue;
      }
      Garbage garbage = *std::move(found);
      if (garbage.list.keys.empty()) co_return {};
      const bool is_part = is_full_ && garbage.list.keys.size() > kShortList;
      if (is_part) keep_largest(garbage);
      const bool is_condemned = CO_TRY(co_await condemn(garbage));
      if (!is_condemned) continue;
      count(garbage);
      CO_TRY(co_await sweep());
      if (!is_part) co_return {};
      is_full_ = false;  // There is room now for a list of the rest.
    }
    co_return Error(Errc::kUnavailable, "the volume is changed faster than its garbage is found")
        .with_value(volume_.name())
        .with_hint("run gc again when fewer processes write to it");
  }

  static void keep_largest(Garbage& garbage) {
    std::vector<std::string> keys(garbage.list.keys.begin(), garbage.list.keys.end());
    const auto is_larger = [&garbage](const std::string& one, const std::string& other) {
      return garbage.sizes.at(one) > garbage.sizes.at(other);
    };
    std::nth_element(keys.begin(), keys.begin() + kShortList, keys.end(), is_larger);
    keys.resize(kShortList);
    garbage.list.keys = std::set<std::string>(keys.begin(), keys.end());
  }

  void count(const Garbage& garbage) {
    result_.objects += std::ssize(garbage.list.keys);
    for (const std::string& key : garbage.list.keys) result_.bytes += garbage.sizes.at(key);
  }

  // --- What is garbage.

  Async<Garbage> find_garbage(Head head) {
    Garbage garbage;
    garbage.generation = head.generation;
    // Objects before sessions: whoever put one of them has a session, or has had one.
    for (const char* kind : {"p/", "i/", "v/", "g/"}) CO_TRY(co_await list(kind, garbage.sizes));
    const std::vector<SeenSession> sessions = CO_TRY(co_await see_sessions());
    garbage.list.live = CO_TRY(co_await live_pins(head, sessions));
    garbage.collections = head.collections;
    for (const SeenSession& session : sessions) {
      if (!is_of_this_volume(session)) continue;
      garbage.collections = std::max(garbage.collections, session.record->collections);
    }
    CO_TRY(co_await mark_head(head));
    for (const SeenSession& session : sessions) {
      if (!is_pin_of_another(session)) continue;
      CO_TRY(co_await mark_pin(*session.record));
      if (is_branch(session)) CO_TRY(co_await mark_base(*session.record));
    }
    for (const auto& [key, size] : garbage.sizes) {
      const bool is_used = marks_.has(key) || garbage.list.live.contains(object_tag(key));
      if (!is_used && key != head.condemned) garbage.list.keys.insert(key);
    }
    // The next list takes the place of the last one, which goes with it.
    const bool has_list = garbage.sizes.contains(head.condemned);
    if (!garbage.list.keys.empty() && has_list) garbage.list.keys.insert(head.condemned);
    co_return garbage;
  }

  // Its own pin is of what it has compacted.
  bool is_pin_of_another(const SeenSession& session) const {
    const bool is_own = volume_.has_session() && session.key == volume_.session().session().key();
    return !is_own && is_of_this_volume(session) && !session.record->pin.empty();
  }

  Async<void> list(std::string kind, std::map<std::string, std::int64_t>& sizes) {
    const std::string prefix = volume_.prefix();
    for (std::string after;;) {
      object::ListPage page = CO_TRY(co_await volume_.store().list(prefix + kind, after, stop_));
      for (const object::Listed& object : page.objects) {
        const std::string_view name = std::string_view(object.key).substr(prefix.size());
        // What else lies there is somebody's: a volume may be called "p".
        if (is_object_key(name, kind)) sizes[std::string(name)] = object.size;
      }
      if (!page.more) co_return {};
      after = *std::move(page.more);
    }
  }

  // Nobody takes it for dead but who deletes the volume.
  bool is_branch(const SeenSession& session) const {
    return session.record && session.record->kind == kBranchKind && !volume_.head().is_deleted();
  }

  // Not of one that a late request has brought back once it was removed.
  Async<bool> has_its_pin(SessionRecord branch) {
    if (branch.pin.empty()) co_return true;
    const auto manifest = CO_TRY(co_await volume_.pinned_manifest(branch.pin));
    co_return manifest.has_value();
  }

  // A dry run leaves out those that it would end.
  Async<std::vector<SeenSession>> see_sessions() {
    std::vector<SeenSession> seen;
    for (SeenSession& session :
         CO_TRY(co_await volume::see_sessions(volume_.store(), volume_.prefix(), stop_))) {
      if (options_.dry_run && has_ended(session)) {
        ended_.insert(session.key);
      } else {
        seen.push_back(std::move(session));
      }
    }
    co_return seen;
  }

  bool is_of_this_volume(const SeenSession& session) const {
    return session.record && !is_of_another_volume(*session.record, volume_.head().uuid);
  }

  bool has_ended(const SeenSession& session) const {
    return session.record && !is_branch(session) && volume_.processes().has_ended(*session.record);
  }

  // The list of garbage that the head names. None: it is lost or damaged, has gone with its volume,
  // or the head has moved on.
  Async<std::optional<Condemned>> last_list(const Head& head) {
    return find_condemned(volume_.store(), volume_.prefix() + head.condemned, stop_);
  }

  // Pins of the sessions, by tag, that no list of garbage has passed over: a late request may bring
  // back the object of one that was taken for dead, and what it had put or pinned may be gone.
  Async<std::map<std::string, std::string>> live_pins(const Head& head,
                                                      const std::vector<SeenSession>& seen) {
    // Without it all that it may have passed over count as passed over: they cannot publish, and
    // are told so.
    std::optional<Condemned> last;
    if (!head.condemned.empty()) last = CO_TRY(co_await last_list(head));
    std::map<std::string, std::string> live;
    for (const SeenSession& session : seen) {
      if (!is_of_this_volume(session)) continue;
      const std::string tag = session_tag(session.key);
      const std::string& pin = session.record->pin;
      const bool is_later = session.record->collections == head.collections;
      if (is_later || is_branch(session) || (last && last->has_live(tag, pin)))
        live.emplace(tag, pin);
    }
    co_return live;
  }

  Async<void> mark_head(const Head& head) {
    std::vector<VersionPlace> places = head.recent;
    for (const auto& [name, place] : head.tags) places.push_back(place);
    for (const VersionPlace& place : places) {
      const bool is_newest = head.newest() != nullptr && place.key == head.newest()->key;
      const Mark mark(place.key, is_newest ? chunks_of_newest() : Marks::Chunks::kNone);
      CO_TRY(co_await mark_place(place, mark));
    }
    for (const auto& [name, clone] : head.clones) {
      const auto chunks = clone.has_chunks ? Marks::Chunks::kAll : Marks::Chunks::kNone;
      CO_TRY(co_await mark_place(clone.place, Mark(clone.place.key, chunks)));
    }
    co_return {};
  }

  Async<void> mark_place(VersionPlace place, Mark mark) {
    if (marked_.contains(mark)) co_return {};
    Manifest manifest = CO_TRY(co_await volume_.manifest_at(std::move(place)));
    CO_TRY(co_await marks_.add(volume_.pages(), std::move(manifest), mark.second,
                               Marks::Missing::kError));
    has_marked(mark);
    co_return {};
  }

  // Compaction cuts what puts may take over to what files need, which a dry run does not see.
  Marks::Chunks chunks_of_newest() const {
    return options_.dry_run ? Marks::Chunks::kPages : Marks::Chunks::kAll;
  }
  static Marks::Chunks chunks_of(const SessionRecord& session) {
    return session.writes ? Marks::Chunks::kAll : Marks::Chunks::kNone;
  }

  Async<void> mark_pin(const SessionRecord& record) {
    return mark_held(Mark(record.pin, chunks_of(record)));
  }
  // What a branch has changed is found by it.
  Async<void> mark_base(const SessionRecord& record) {
    return mark_held(Mark(record.base, Marks::Chunks::kNone));
  }

  Async<void> mark_held(Mark mark) {
    if (mark.first.empty()) co_return {};  // Of an empty volume.
    if (marked_.contains(mark)) co_return {};
    std::optional<Manifest> manifest = CO_TRY(co_await volume_.pinned_manifest(mark.first));
    if (!manifest) co_return {};
    CO_TRY(co_await marks_.add(volume_.pages(), *std::move(manifest), mark.second,
                               Marks::Missing::kIgnore));
    has_marked(mark);
    co_return {};
  }

  void has_marked(const Mark& mark) {
    marked_.insert(mark);
    marks_.add_key(mark.first);
  }

  // --- Compaction.

  // A version that is damaged is left as it is: what is missing is told by the marking. One that is
  // no more the newest is left to the next run.
  Async<void> compact_newest() {
    CO_TRY(co_await volume_.refresh());
    const Head head = volume_.head();
    if (head.newest() == nullptr) co_return {};
    const Result<Compaction> done = co_await compact_now(head);
    if (done.ok() && done->is_done) result_.rewritten += done->packed;
    const bool has_no_room = is_full_ && !done.ok() && done.error().code == Errc::kFull;
    const bool is_damaged = !done.ok() && done.error().code == Errc::kCorrupt;
    if (is_damaged) result_.damage = done.error().message;
    if (done.ok() || is_damaged || has_no_room) co_return {};
    CO_TRY(co_await volume_.refresh());
    if (volume_.head().generation != head.generation) co_return {};
    co_return done.error();
  }

  // What files need: of the newest version, and of all others that are retained.
  struct Needs {
    Marks newest;
    Marks others;
    bool is_newest_held = false;                // As it is: by its places.
    std::map<std::string, std::int64_t> sizes;  // Of packs, by key.
  };

  Async<Compaction> compact_now(const Head& head) {
    Needs needs = CO_TRY(co_await find_needs(head));
    // What a version needs that was published meanwhile is marked nowhere.
    if (volume_.head().generation != head.generation) co_return Compaction();
    if (is_full_) needs.sizes.clear();  // No pack, but the tree of chunks is cut all the same.
    co_return co_await compact(volume_, needs.newest, needs.others, needs.sizes, stop_);
  }

  // The packs that it would write anew.
  Async<void> add_what_compaction_leaves(const Head& head, Garbage& garbage) {
    if (head.newest() == nullptr) co_return {};
    const Needs needs = CO_TRY(co_await find_needs(head));
    for (const ObjectId& pack : packs_to_compact(needs.newest, needs.others, needs.sizes)) {
      result_.rewritten += static_cast<std::int64_t>(needs.newest.packs().at(pack).bytes);
      const std::string key = pack_key(pack);
      const bool is_held = needs.is_newest_held || garbage.list.live.contains(object_tag(key));
      if (!is_held) garbage.list.keys.insert(key);
    }
    co_return {};
  }

  Async<Needs> find_needs(const Head& head) {
    Needs needs;
    CO_TRY(co_await list("p/", needs.sizes));
    Manifest manifest = CO_TRY(co_await volume_.manifest_at(*head.newest()));
    CO_TRY(co_await needs.newest.add(volume_.pages(), std::move(manifest), Marks::Chunks::kNone,
                                     Marks::Missing::kError));
    CO_TRY(co_await mark_others(head, needs));
    co_return needs;
  }

  Async<void> mark_others(const Head& head, Needs& needs) {
    std::set<std::string> keys;
    for (const SessionRecord& session : CO_TRY(co_await see_others())) {
      keys.insert(session.pin);
      if (!session.base.empty()) keys.insert(session.base);
    }
    needs.is_newest_held = keys.contains(head.newest()->key);
    for (const VersionPlace& place : head.recent) keys.insert(place.key);
    for (const auto& [name, place] : head.tags) keys.insert(place.key);
    keys.erase(head.newest()->key);
    // For good: what a clone needs of the newest version itself is not written anew.
    for (const auto& [name, clone] : head.clones) keys.insert(clone.place.key);
    for (const std::string& key : keys) {
      std::optional<Manifest> manifest = CO_TRY(co_await volume_.pinned_manifest(key));
      if (!manifest) continue;
      CO_TRY(co_await needs.others.add(volume_.pages(), *std::move(manifest), Marks::Chunks::kNone,
                                       Marks::Missing::kIgnore));
    }
    co_return {};
  }

  // --- Condemning, and deleting what is condemned.

  Async<bool> condemn(const Garbage& garbage) {
    const std::string key = volume_.new_list_key();
    CO_TRY(co_await volume_.put_object(key, encode_condemned(garbage.list)));
    if (volume_.head().generation != garbage.generation) co_return false;
    Head next = volume_.head();
    // Above the numbers of all sessions, too: where an older head was put back, one that is taken
    // over, which goes by its number, would take the list for one that was looked at.
    next.collections = garbage.collections + 1;
    next.condemned = key;
    next.swept = false;
    CO_TRY(co_await volume_.swap_head(std::move(next)));
    co_return volume_.head().condemned == key;
  }

  // Deletes what the head's list names. Anybody may, at any time, and any number.
  Async<void> sweep() {
    const Head head = volume_.head();
    if (head.condemned.empty() || head.swept) co_return {};
    std::optional<Condemned> list = CO_TRY(co_await last_list(head));
    if (!list) {
      CO_TRY(co_await volume_.refresh());
      if (volume_.head().condemned != head.condemned) co_return {};
      list.emplace();  // What it names is garbage still, and the next one has it.
    }
    std::vector<Async<void>> removals;
    for (const std::string& key : list->keys) {
      CO_TRY(stop_.check());
      removals.push_back(volume_.store().remove(volume_.prefix() + key, stop_));
      if (removals.size() < kDeletesAtOnce) continue;
      CO_TRY(co_await async::when_all(loop_, std::exchange(removals, {})));
    }
    CO_TRY(co_await async::when_all(loop_, std::move(removals)));
    co_return co_await volume_.change_head([&head](const Head& now) -> Result<Head> {
      Head next = now;
      if (now.condemned == head.condemned) next.swept = true;
      return next;
    });
  }

  // --- Sessions of the dead, and versions that are not kept.

  Async<void> remove_dead_sessions() {
    std::vector<SeenSession> suspects;
    for (SeenSession& session : CO_TRY(co_await see_sessions())) {
      if (session.key == volume_.session().session().key()) continue;
      if (is_branch(session) && CO_TRY(co_await has_its_pin(*session.record))) continue;
      if (has_ended(session)) {
        CO_TRY(co_await remove(session));
      } else {
        suspects.push_back(std::move(session));
      }
    }
    if (suspects.empty() || !options_.wait) co_return {};
    const Duration until = clock_.boot() + Session::kTtl;
    // What counts is when a look began: this process may be stopped, too, before it has the answer.
    for (bool is_last = false; !is_last;) {
      const Duration left = std::max(until - clock_.boot(), Duration());
      CO_TRY(co_await loop_.sleep(std::min(left, Session::kBeat), stop_));
      is_last = clock_.boot() >= until;
      CO_TRY(co_await drop_living(suspects));
      if (suspects.empty()) co_return {};
    }
    for (const SeenSession& session : suspects) CO_TRY(co_await remove(session));
    co_return {};
  }

  // Promises of clones that are no more, or came to nothing; from exactly the head that has them:
  // whoever makes one meanwhile says so in it.
  Async<void> forget_gone_clones() {
    const Head head = volume_.head();
    Head next = head;
    for (const auto& [name, clone] : head.clones) {
      const bool is_there = CO_TRY(co_await has_clone(volume_.store(), volume_.random(),
                                                      volume_.name(), name, clone.nonce, stop_));
      if (!is_there) next.clones.erase(name);
    }
    const bool is_same = volume_.head().generation == head.generation;
    if (next.clones.size() == head.clones.size() || !is_same) co_return {};
    CO_TRY(co_await volume_.swap_head(std::move(next)));
    co_return {};
  }

  // Those that have changed, or ended, since they were seen.
  Async<void> drop_living(std::vector<SeenSession>& suspects) {
    std::map<std::string, std::string> now;
    for (SeenSession& session : CO_TRY(co_await see_sessions())) {
      now.emplace(std::move(session.key), std::move(session.bytes));
    }
    std::erase_if(suspects, [&](const SeenSession& session) {
      const auto found = now.find(session.key);
      return found == now.end() || found->second != session.bytes;
    });
    co_return {};
  }

  Async<void> remove(const SeenSession& session) {
    const bool is_removed = CO_TRY(co_await remove_session(volume_.store(), session, stop_));
    if (is_removed) ++result_.sessions;
    co_return {};
  }

  // Sessions of others that hold a version.
  Async<std::vector<SessionRecord>> see_others() {
    std::vector<SessionRecord> others;
    for (SeenSession& session : CO_TRY(co_await see_sessions())) {
      if (is_pin_of_another(session)) others.push_back(*std::move(session.record));
    }
    co_return others;
  }

  static std::set<std::string> versions_of(const std::vector<OldVersion>& old) {
    std::set<std::string> versions;
    for (const OldVersion& each : old) versions.insert(each.version);
    return versions;
  }

  // Versions that may be dropped, and those that might be if nobody held them.
  struct OldOnes {
    std::vector<OldVersion> droppable;
    std::vector<OldVersion> held;
  };

  Async<OldOnes> find_old(Duration keep) {
    std::vector<SessionRecord> sessions = CO_TRY(co_await see_others());
    sessions.insert(sessions.end(), options_.awaited.begin(), options_.awaited.end());
    std::vector<OldVersion> all =
        CO_TRY(co_await old_versions(volume_, clock_.wall(), keep, std::move(sessions)));
    OldOnes old;
    for (OldVersion& each : all) {
      (each.holders.empty() ? old.droppable : old.held).push_back(std::move(each));
    }
    co_return old;
  }

  // Who begins to hold one of them meanwhile holds it, also when the head has it no more.
  Async<void> drop_versions(Duration keep) {
    OldOnes old = CO_TRY(co_await find_old(keep));
    result_.held = std::move(old.held);
    const std::set<std::string> versions = versions_of(old.droppable);
    CO_TRY(co_await volume_.change_head(
        [&versions](const Head& now) -> Result<Head> { return without(now, versions); }));
    for (OldVersion& each : old.droppable) {
      const bool has_a_tag_by_now = volume_.head().find(each.version) != nullptr;
      if (!has_a_tag_by_now) result_.dropped.push_back(std::move(each));
    }
    co_return {};
  }

  async::EventLoop& loop_;
  env::Clock& clock_;
  Volume& volume_;
  const GcOptions options_;
  async::StopToken stop_;
  bool is_full_ = false;  // The store, until the first list of garbage is swept.
  Marks marks_;
  std::set<Mark> marked_;
  std::set<std::string> ended_;  // Sessions that a dry run leaves, of processes that are gone.
  GcResult result_;
};

}  // namespace

Async<GcResult> collect_garbage(async::EventLoop& loop, env::Clock& clock, Volume& volume,
                                GcOptions options, async::StopToken stop) {
  const bool is_tried_out = options.dry_run;
  Collection collection(loop, clock, volume, std::move(options), std::move(stop));
  if (is_tried_out) co_return co_await collection.try_out();
  co_return co_await collection.run();
}

}  // namespace runnel::volume
