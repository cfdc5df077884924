#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/stop_token.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/object_store.h"
#include "object/store_finder.h"
#include "volume/edit.h"
#include "volume/head_register.h"
#include "volume/held_session.h"
#include "volume/layered_store.h"
#include "volume/manifest.h"
#include "volume/processes.h"
#include "volume/range_reader.h"
#include "volume/reader_memory.h"
#include "volume/seen_session.h"
#include "volume/store_pages.h"

namespace runnel::volume {

// What versions are made with.
struct VolumeContext {
  object::ObjectStore& store;
  env::Clock& clock;
  env::Random& random;
  async::StopToken stop;
  object::StoreFinder* others = nullptr;  // Of linked objects; none: they are not read.
  const Processes& processes = real_processes();
  // Of all volumes that are opened with it.
  std::shared_ptr<ReaderMemory> memory = std::make_shared<ReaderMemory>();
};

// A volume in its store: its head, its versions, and how a version is added. docs/design/volume.md.
//
// Contract: nothing but the store is kept: whoever opens a volume sees what others published. A
//           version is published by one swap of the head, and whatever becomes of the answer,
//           publish() says whether it was: an unknown outcome is settled by what the head has then.
//           Who puts objects, or reads for long, has a session open meanwhile, or gc takes them.
// Threads:  the loop's only.
// Lifetime: what the context refers to outlives it.
class Volume {
 public:
  // kConflict when there is one of the name already; kUnsupported when the store ignores
  // conditions.
  static Async<Volume> create(VolumeContext context, std::string name);
  // Of a clone, as clone_volume() makes it.
  static Async<Volume> create_with(VolumeContext context, std::string name, Head first,
                                   object::Condition condition);
  // kNotFound when there is none, or a clone whose making came to nothing.
  static Async<Volume> open(VolumeContext context, std::string name);
  // The same by a head that another process has just read, which is not read anew. Whoever holds a
  // version by begin_reading() finds out what has changed since, unless the store lets nothing be
  // written.
  static Async<Volume> open_seen(VolumeContext context, std::string name, SeenHead head);
  // The same of one that may be deleted, in whole or in part, for delete_volume().
  static Async<Volume> open_to_delete(VolumeContext context, std::string name);

  const std::string& name() const { return name_; }
  const Head& head() const { return head_->head(); }
  SeenHead seen_head() const { return head_->seen(); }
  // Reads the head again: what others have published since.
  Async<void> refresh() { return head_->load(); }

  // From here to end_session() gc leaves what this volume puts, and the chunks of the version that
  // is the newest then, which latest() gives.
  Async<void> begin_writing(SessionRecord who);
  // The same, going on with what a process has put that had said the same of itself and has ended:
  // what it put stays, too. False when there is no such process, and nothing was begun.
  Async<bool> go_on_writing(SessionRecord who);
  // Until end_session() gc leaves the version, unless the store lets nothing be written; a writer,
  // as `who` says, may publish what the version has. kNotFound as snapshot().
  Async<Snapshot> begin_reading(SessionRecord who, std::string version);
  // The same, going on with what a process held that had said the same of itself and has ended; by
  // the version's whole id. None when there is no such process, and nothing was begun.
  Async<std::optional<Snapshot>> go_on_reading(SessionRecord who, std::string version);
  // For branch_session.h. False when the branch has changed or ended since it was seen.
  Async<bool> go_on_with_branch(SessionRecord who, SeenSession branch, Session::BranchHas has);
  // Makes a branch of the session of a writer who has put nothing yet: end_session() leaves it
  // where it is. kConflict when it was taken for dead.
  Async<void> become_branch();
  // Puts a manifest, and makes it what the branch has. kConflict when somebody else goes on with
  // the branch, or it was removed.
  Async<void> publish_in_branch(Manifest manifest, bool sealed);
  // It is all that was to be written.
  Async<void> seal_branch();
  // To be called each Session::kBeat. kConflict when the session was taken for dead.
  Async<void> keep_session(KeysInUse keys);
  Async<void> end_session();
  // The session stays where it is, and is nobody's.
  void leave_session();
  // Ends with the error of work under the session, or, where something was missing, with what keeps
  // the session from being alive: then it was taken for dead, or nobody can tell. Where no session
  // could be had, kNotFound says so of a version that is in the head no more.
  Async<void> explain(Error error, KeysInUse keys);

  // A version: "latest", a tag, an id, or the beginning of one id. kNotFound, or kInvalid for a
  // beginning of several. Of an empty volume "latest" is a version without files.
  Async<Snapshot> snapshot(std::string version);
  // The one of a whole id; of none, what an empty volume has. kNotFound.
  Async<Snapshot> snapshot_by_id(std::string id);
  // What an empty volume has.
  Snapshot empty_snapshot();
  // Where it is. kNotFound also for "latest" of an empty volume.
  Result<VersionPlace> place_of(const std::string& version) const;

  // Publishes the newest version changed by the edit, whose chunks are all put. When somebody else
  // publishes meanwhile, the edit is applied to theirs. The first one with a linked object makes
  // the volume one that is refused by builds which know none. The version that it became; no new
  // one when it changes nothing. kConflict when the session was taken for dead; one of its own is
  // begun where there is none.
  Async<Manifest> publish(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                          std::string message);
  // The same of a version that has an origin, for merge.h. `check` is asked of each newest version
  // that the edit is about to be applied to, and its error ends it.
  struct Publication {
    std::string message;
    std::string origin;
    std::function<Async<void>(Snapshot& newest)> check;
  };
  Async<Manifest> publish_checked(const Edit& edit, Publication publication);
  // Puts the pages that an edit of the newest version made. What it becomes, for
  // publish_manifest(): another manifest of the same version where the tree is the same.
  Async<Manifest> put_index(const Manifest& base, EditedIndex index, std::int64_t packed,
                            std::string message);
  // Puts a manifest and makes it the newest version, or, `instead`, what the newest one is from
  // now on. False when the head is another one than `base` says by its generation. kConflict for a
  // newer version while somebody else has the lease, or it was taken away.
  Async<bool> publish_manifest(Manifest manifest, std::int64_t base, bool instead, KeysInUse keys);

  // The same of a version that is to have a tag and to be the newest for nobody.
  // `choose`: called for the head that is swapped then.
  Async<bool> publish_tagged(Manifest manifest, std::function<std::string()> choose,
                             KeysInUse keys);

  Async<Manifest> manifest_at(VersionPlace place);
  // Of the manifest that a session pins; of none, what an empty volume has. kNotFound.
  Async<Snapshot> pinned_snapshot(std::string key);
  // The one that a session pins. None when it is no more.
  Async<std::optional<Manifest>> pinned_manifest(std::string key);
  // As HeadRegister::swap().
  Async<HeadRegister::Swap> swap_head(Head next) { return head_->swap(std::move(next)); }
  // For lease.h: the lease that this volume's session has, so that it alone publishes versions.
  void hold_lease(Lease lease) { held_lease_ = std::move(lease); }
  void drop_lease() { held_lease_.reset(); }
  const std::optional<Lease>& held_lease() const { return held_lease_; }
  // The session's, as a lease names it.
  std::string session_name();
  // One that a lease names; none: it has ended.
  Async<std::optional<SeenSession>> see_session(const std::string& name);
  // Whether somebody else has the lease, as far as one look tells: then kConflict, naming it.
  Async<void> check_not_leased();
  // When it returns, a swap of the head that had no answer was done, or never will be.
  Async<void> fence();
  // Changes the head's lists of versions by what `change` makes of them, as often as somebody else
  // is first.
  using HeadChange = std::function<Result<Head>(const Head&)>;
  Async<void> change_head(HeadChange change);

  // A name that no object has had, of the session's.
  ObjectId new_object_id(std::string_view bytes);
  // For a list of garbage.
  std::string new_list_key();
  Async<void> put_object(std::string key, std::string bytes);
  // Of a clone what it shares with others is read from there.
  object::ObjectStore& store();
  // Of the chunks and linked objects of its files.
  RangeReader ranges();
  PageSource& pages() { return *pages_; }
  const std::shared_ptr<ReaderMemory>& memory() const { return context_.memory; }
  env::Random& random() { return context_.random; }
  Time wall() const { return context_.clock.wall(); }
  Duration boot() const { return context_.clock.boot(); }
  const Processes& processes() const { return context_.processes; }
  const std::string& prefix() const { return prefix_; }
  bool has_session() const { return session_.has_value(); }
  bool has_branch() const { return session_ && session_->session().record().kind == kBranchKind; }
  HeldSession& session() { return *session_; }

 private:
  Volume(VolumeContext context, std::string name);
  HeldSession::Context session_context();

  // To be called of a clone once its head is known.
  Async<void> open_clone();
  Result<void> read_from_bases();
  Async<Manifest> read_manifest(VersionPlace place);
  Async<bool> find_pinned(VersionPlace place, std::optional<Manifest>& into);
  // `text`: of the manifest, where it is known.
  Async<Manifest> manifest_of_text(VersionPlace place, std::string text);
  Async<Manifest> publish_as(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                             Publication publication);
  Async<Manifest> publish_edit(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                               Publication publication, KeysInUse keys);
  struct Edited {
    Manifest base;      // The newest version,
    Manifest manifest;  // and what the edit makes of it.
  };
  Async<Edited> edit_newest(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                            const Publication& publication);
  // The base's own when the edit changes nothing.
  Async<Manifest> manifest_of(Snapshot& base, const Edit& edit, const NewChunks& chunks,
                              std::int64_t packed, std::string message);
  Head next_head(const Manifest& manifest, const std::string& text, const std::string& key,
                 bool instead);
  Async<void> tell_of_links(const Edit& edit);
  Async<void> check_lease();
  Async<bool> comes_of(std::string version, std::int64_t generation);

  VolumeContext context_;
  std::string name_;
  std::string prefix_;                    // Of its keys: "NAME/".
  std::shared_ptr<LayeredStore> layers_;  // Of a clone; also of what reads its packs.
  std::unique_ptr<StorePages> pages_;
  std::unique_ptr<HeadRegister> head_;
  std::optional<HeldSession> session_;
  std::optional<VersionPlace> unheld_;  // That is read without one.
  std::optional<Lease> held_lease_;
  std::optional<std::pair<std::string, Manifest>> last_manifest_;  // That was read, by its key.
};

// kConflict: this writer has the lease of the volume.
Error is_leased(const std::string& volume, const SessionRecord& holder);

// A name of a volume: 1 to 63 of a-z 0-9 - _ ., beginning with a letter or digit.
Result<void> check_volume_name(std::string_view name);

}  // namespace runnel::volume
