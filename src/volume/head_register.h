#pragma once

#include <cstdint>
#include <string>

#include "async/stop_token.h"
#include "env/random.h"
#include "object/object_store.h"
#include "volume/head.h"

namespace runnel::volume {

// A head as somebody has read it, to be handed to another process.
struct SeenHead {
  std::string text;
  std::string etag;
  friend bool operator==(const SeenHead&, const SeenHead&) = default;
};

// The one register of a volume: its head, read and changed by compare-and-swap.
//
// Contract: once it has read a head it is that volume's: one that was made anew under the name is
//           kConflict, so that nobody who was late changes it.
// Threads:  the loop's only.
// Lifetime: store and chance outlive it.
class HeadRegister {
 public:
  // Swaps of a head that others swap, too, and looks at it, before giving up.
  static constexpr int kTriesMax = 100;

  static std::string draw_uuid(env::Random& random);
  // kUnavailable, after so many tries.
  static Error changes_too_fast(const std::string& volume);
  // kConflict: there is a volume of the name.
  static Error is_taken(const std::string& volume);
  // kNotFound: it was deleted, or, unless it is gone, is being deleted.
  static Error was_deleted(const std::string& volume, bool is_gone);

  HeadRegister(object::ObjectStore& store, env::Random& random, std::string volume,
               async::StopToken stop);

  // From here on the head of a deleted volume is one like any other.
  void see_deleted() { sees_deleted_ = true; }

  // kCorrupt where there is no head, and objects of a volume are: a new head would make garbage of
  // all its versions.
  Async<void> check_not_lost();
  // The first head of an empty volume. kConflict when there is one already. It takes the place of
  // one that was deleted.
  Async<void> create();
  // The same of one that begins with what is there: `first`, whose manifest may have been taken for
  // garbage unless the condition has held since before it was put. kConflict when it does not hold.
  Async<void> create_as(Head first, object::Condition condition);
  SeenHead seen() const;
  // Begins with one that was read before, which may be another one by now.
  Result<void> take(const SeenHead& seen);
  // The head as it is now. kNotFound when there is no such volume, or it was deleted; kCorrupt as
  // check_not_lost() and for a head that is damaged.
  Async<void> load();
  // The same for who has a session: of a volume that is being deleted, what it holds stays.
  Async<void> load_to_hold();
  const std::string& volume() const { return volume_; }
  // The latest that was read or swapped.
  const Head& head() const { return head_; }
  const std::string& etag() const { return etag_; }

  enum class Swap : std::uint8_t {
    kDone,
    // Somebody swapped it. It is read again, and may come of ours: an answer may have been lost.
    kMoved,
  };
  // Puts another head in the place of the one that was read, and gives it a generation and a nonce.
  // kNotFound when that was one of a deleted volume.
  Async<Swap> swap(Head next);

 private:
  // The condition under which a head takes the place of one that was deleted.
  Async<object::Condition> place_of_deleted();
  Result<void> check_there() const;
  Async<bool> has_content();
  Error is_lost() const;
  Async<void> load_whole();
  Async<void> load_once();

  object::ObjectStore& store_;
  env::Random& random_;
  const std::string volume_;
  const std::string key_;
  const async::StopToken stop_;
  bool sees_deleted_ = false;
  Head head_;
  std::string etag_;  // Of the head as it was read.
};

// Whether a volume has objects of a kind, "p/": what else lies there is somebody's.
Async<bool> has_objects(object::ObjectStore& store, std::string prefix, std::string kind,
                        async::StopToken stop);

}  // namespace runnel::volume
