#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "async/event_loop.h"
#include "async/gate.h"
#include "volume/head_register.h"
#include "volume/processes.h"
#include "volume/seen_session.h"
#include "volume/session.h"

namespace runnel::volume {

// The keys of the objects that a writer is about to refer to, below the volume's prefix.
using KeysInUse = std::function<std::set<std::string>()>;

// A session together with the knowledge that nothing it refers to was condemned, which is looked
// at anew whenever the head tells of another list of garbage. docs/design/volume_gc.md.
//
// Threads:  the loop's only.
// Lifetime: the register and what the session needs outlive it.
class HeldSession {
 public:
  // Where sessions of a volume are, and who speaks of processes there.
  struct Context {
    HeadRegister& head;
    object::ObjectStore& store;
    env::Random& random;
    const Processes& processes;
    async::StopToken stop;
  };

  // Holds the version that is the newest in the end; the register has that head.
  static Async<HeldSession> for_writing(Context context, SessionRecord who);
  // Goes on with what a writer of the same kind and source has put whose process has ended, and
  // holds the newest version. None when there is no such session, or what it had put may be gone.
  static Async<std::optional<HeldSession>> for_going_on(Context context, SessionRecord who);
  // Goes on with what a reader of the same kind and source holds whose process has ended, also when
  // the version is not in the head any more: the first that pins what `is_wanted` is true of. None
  // when there is none, or it may be gone. An error leaves it to who asks again, and a store that
  // fails when it is taken over already is asked again by keep().
  using IsWanted = std::function<Async<bool>(std::string pin)>;
  static Async<std::optional<HeldSession>> for_reading_on(Context context, SessionRecord who,
                                                          IsWanted is_wanted);
  // Goes on with a branch, as it was seen, whoever writes it. None when it has changed or ended
  // since.
  static Async<std::optional<HeldSession>> for_going_on_with(Context context, SessionRecord who,
                                                             SeenSession branch,
                                                             Session::BranchHas has);
  // Holds a version, for a writer as `who` says, too: it may take over what that has. kNotFound
  // when it is not in the head any more.
  static Async<HeldSession> for_reading(Context context, SessionRecord who, VersionPlace version);

  Session& session() { return session_; }
  const Session& session() const { return session_; }
  // The keys of what it has put of a kind ("p/"), and their bytes.
  Async<std::map<std::string, std::int64_t>> own_objects(std::string kind);
  // Whether what a writer refers to may be published by a swap of the head that the register has.
  // The lists of garbage that this head counts, all of which have been looked at: another coroutine
  // may have read a later head meanwhile. kConflict when the session was taken for dead, kGone when
  // that head is no more.
  Async<std::int64_t> check(KeysInUse keys);
  // Says that the owner lives: to be called each Session::kBeat.
  Async<void> keep(KeysInUse keys);
  // Makes a branch of the session of a writer who has put nothing yet.
  Async<void> become_branch();
  // Of a branch: it has what is in this manifest from now on.
  Async<void> move_branch(const std::string& manifest_key, bool sealed);
  Async<void> end() { return session_.end(); }

 private:
  HeldSession(const Context& context, Session session);
  Async<std::int64_t> look(KeysInUse keys);
  // `collections`: of the last head whose list of garbage was looked at.
  Async<void> pin(std::string manifest_key, std::int64_t collections);
  // Until it holds the newest version. It refers to nothing yet.
  Async<void> hold_newest();
  // The same of one that goes on: nothing that it refers to was condemned.
  Async<void> pin_newest(KeysInUse keys);
  // Until it holds the version.
  Async<void> hold(VersionPlace place);
  // Ends with the error, and ends the session unless the store is away.
  Async<void> give_up(Error error);

  HeadRegister* head_;
  // The last list of garbage that it has looked at: numbers begin anew where an older head was put
  // back. None: it was taken over, and goes by the number.
  std::optional<std::string> looked_at_;
  object::ObjectStore* store_;
  std::string prefix_;
  async::StopToken stop_;
  Session session_;
  // A beat must not say again what was before: moves of a branch that were begun, and whether one
  // has not ended.
  std::int64_t moves_ = 0;
  bool is_moving_ = false;
};

}  // namespace runnel::volume
