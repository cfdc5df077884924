#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/agenda.h"
#include "volume/condemned.h"
#include "volume/head.h"
#include "volume/manifest.h"
#include "volume_sim/branch_promises.h"
#include "volume_sim/bucket.h"
#include "volume_sim/reach.h"

namespace runnel::volume_sim {

// What must hold of the volumes of a bucket whatever happens, looked at before each change of it:
//   1. what the versions of a volume's head reach, what a put may take over, and what a reader pins
//      whose session is there, exists, and is on no list of garbage, wherever it lies: a clone
//      reads from the volumes that it comes of, once it is made;
//   2. heads follow one another: one generation each, a version over the newest one; another volume
//      takes the place of one that is gone, or of a clone that was never made, and of no other; one
//      that was deleted does not come back, has no version any more, and no clones when that
//      begins; a promise stays as long as the clone that was made of it;
//   3. nothing that was deleted is referred to again;
//   4. a session is removed by its owner, or by whoever has said in it that its owner is dead: who
//      has ended, or stood still for Session::kTtl; it is taken over from one that has ended, and
//      not after that was said;
//   5. a version has the same files whoever reads it, whenever, in whatever volume;
//   6. a session that a list of garbage has passed over is alive in no later one before it has
//      looked;
//   7. while the holder of the lease lives nobody else publishes a version, and nobody takes the
//      lease from it;
//   8. a version that was called dropped is in no head;
//   9. what a branch pins is whole for as long as its session is there, which gc never ends; and
//      what BranchPromises says.
// It sees the bucket and what processes have been told, never what they think. Keys are whole.
//
// Threads: one.
class Oracle {
 public:
  Oracle(const Agenda& agenda, const Bucket& bucket);

  void changes(const Bucket::Change& change);
  // The process was killed or has ended: a session of its that is there is nobody's.
  void is_dead(std::uint64_t process) { dead_.insert(process); }
  // The process is no gc.
  void may_end_branches(std::uint64_t process) { enders_.insert(process); }
  BranchPromises& branches() { return promises_; }

  // A reader has been told that it holds a version under this session.
  void holds(const std::string& session, const std::string& manifest_key);
  // A reader is done with its session.
  void lets_go(const std::string& session);
  // A put has been told that this version is published.
  void told_published(const volume::Manifest& manifest);
  // Somebody has been told that the volume of this uuid was made, empty or as a clone, or deleted.
  void told_made(const std::string& uuid);
  void told_deleted(const std::string& uuid);
  // A reader of the volume of this uuid has been told that a version which was in its head is in it
  // no more.
  void told_dropped(const std::string& volume, const std::string& uuid, const std::string& version);
  // All files of a version with their hashes, as a reader saw them.
  using Files = std::map<std::string, std::string>;
  void saw(const std::string& version, const Files& files);
  void found_wrong(std::string what);

  // While no process works on it, and it was deleted: nothing but its head is there.
  void check_deleted(const std::string& volume);
  // After the last process has ended, and as many gcs as it takes: nothing is there that nobody
  // needs.
  void check_end();

  const std::string& violation() const { return violation_; }
  std::int64_t publishes() const { return publishes_; }
  std::int64_t collections() const { return collections_; }
  std::int64_t clones() const { return clones_; }            // That were made.
  std::int64_t deletions() const { return deletions_; }      // Of volumes, that were done.
  std::int64_t resumptions() const { return resumptions_; }  // Of puts that were killed.

 private:
  using Keys = Reach::Keys;
  // A version as it stands in a head.
  struct Rooted {
    std::string key;  // Of its manifest.
    std::vector<std::string> bases;
    bool with_chunks = false;
  };

  void check_head(const std::string& volume, const std::string& text, std::uint64_t process);
  void check_successor(const std::string& volume, const volume::Head& last,
                       const volume::Head& next);
  void check_lease(const std::string& volume, const volume::Head& last, const volume::Head& next,
                   std::uint64_t process);
  // `last`: the head before the one that is known by now.
  void check_promises(const std::string& volume, const volume::Head& last);
  void check_versions(const std::string& volume);
  void check_list(const std::string& volume, const volume::Head& last, const volume::Head& next);
  void check_living(const std::string& volume, std::int64_t collections,
                    const volume::Condemned& last, const volume::Condemned& next);
  // The list of garbage that a head names, empty for none.
  volume::Condemned list_of(const std::string& volume, const volume::Head& head) const;
  void check_removal(const Bucket::Change& change);
  void check_session(const Bucket::Change& change);
  void check_session_removal(const Bucket::Change& change);
  void check_branch(const Bucket::Change& change);
  void check_end_of_branch(const Bucket::Change& change);
  void check_taken_for_dead(const Bucket::Change& change);
  void check_reach(const Rooted& root);
  const Keys& reach(const Rooted& root);
  const volume::Head* head_of(const std::string& volume) const;  // Null: none.
  // Whether what it has is needed: neither a clone that nobody has opened, nor deleted.
  bool is_alive(const std::string& volume) const;
  std::vector<Rooted> roots_of(const std::string& volume) const;
  // Of all volumes, and of readers.
  std::vector<Rooted> roots() const;
  // Whether it may stay: it is needed, or promised to a clone.
  bool may_stay(const std::string& key);

  const Agenda& agenda_;
  const Bucket& bucket_;
  Reach reach_;
  std::map<std::string, volume::Head> heads_;            // By volume.
  std::map<std::string, Rooted> held_;                   // By the readers' sessions.
  std::map<std::string, std::vector<Rooted>> branches_;  // What each pins, by its session.
  std::set<std::uint64_t> enders_;                       // Processes that may end one.
  Keys brought_back_;  // Sessions, by late requests, once they were removed.
  BranchPromises promises_;
  std::map<std::string, std::uint64_t> owners_;  // Of sessions: processes.
  std::set<std::uint64_t> dead_;
  Keys ended_;  // Sessions that were removed, or of which it was said that their owner is dead.
  std::map<std::string, Time> stood_still_;  // When a session went on that had been still for long.
  Keys removed_;
  Keys versions_;  // Ever the newest of the volume, by its uuid.
  Keys made_;      // Volumes that there ever were, by uuid,
  Keys gone_;      // and those that were deleted.
  std::map<std::string, Files> files_;
  std::string violation_;
  std::int64_t publishes_ = 0;
  std::int64_t collections_ = 0;
  std::int64_t clones_ = 0;
  std::int64_t deletions_ = 0;
  std::int64_t resumptions_ = 0;
};

}  // namespace runnel::volume_sim
