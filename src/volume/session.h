#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/stop_token.h"
#include "base/units.h"
#include "env/random.h"
#include "object/object_store.h"

namespace runnel::volume {

// What a session says of its owner and of what must stay for it.
struct SessionRecord {
  std::string kind;                // What the owner does, as messages call it: "put", "get", "gc".
  std::string pin;                 // The key of the manifest that it holds; empty: none.
  std::string base;                // Of a branch: that of the one that it comes of.
  std::int64_t publishes = 0;      // Of a branch: how often its pin was changed.
  bool sealed = false;             // Of a branch: it is all that its owner was to write.
  std::int64_t term = 0;           // Of a branch: nobody goes on with it in a lower one.
  std::string merged;              // Of a branch: the version that has it; empty: none yet.
  bool writes = false;             // Then it may take over chunks of the pinned version, too.
  std::int64_t collections = 0;    // Of the head, when nothing that it refers to was condemned.
  std::int64_t beat = 0;           // Counted up by the owner for as long as it lives.
  std::string host;                // Where it runs, by name,
  std::string boot;                // by the id of the boot,
  std::int64_t pid = 0;            // and the process,
  std::int64_t pid_namespace = 0;  // as that namespace numbers it; 0: it is not known.
  std::string source;              // What a put reads; absolute.
  std::string owner;               // By chance: who takes a session over has another one.
  std::string uuid;                // Of the volume; empty: of an older build.
  friend bool operator==(const SessionRecord&, const SessionRecord&) = default;
};

// The kind of a session that nobody takes for dead (branch_session.h), and of one that is about to
// be that.
inline constexpr const char* kBranchKind = "branch";
inline constexpr const char* kNewBranchKind = "new branch";
// The name of a branch's session ends with the first of the SHA-256 of the branch's name, so that
// who looks for it reads no other session.
inline constexpr std::size_t kBranchDigits = 8;
std::string branch_digits(std::string_view branch);

// The kind of a session just before it is removed, by its owner or by who takes that for dead.
inline constexpr const char* kEndedKind = "ended";

inline constexpr std::int64_t kSessionBytesMax = 16 << 10;  // Of a session's object.

std::string encode_session(const SessionRecord& record);
// kCorrupt for what is no session.
Result<SessionRecord> decode_session(std::string_view text);

// This process, as a session names it.
SessionRecord session_of_this_process(std::string kind);

// Whether the session's process is known to be no more: only one of the boot and the PID namespace
// of `here` is. Machines may share a host name, and so may containers of one machine: of another
// boot or namespace it may live.
bool has_ended(const SessionRecord& record, const SessionRecord& here);

// Whether it is a session of a volume that had the name before, which may come late. The owner of
// one is told that its volume is no more.
bool is_of_another_volume(const SessionRecord& record, const std::string& uuid);

// An owner's session: an object that keeps what it pins and what it puts from gc for as long as it
// is there. docs/design/volume_gc.md.
//
// Contract: an error kConflict means that somebody took the owner for dead and has removed the
//           session: what it put or pinned may be gone.
// Threads:  the loop's only.
// Lifetime: store and chance outlive it. end() is for an owner that is done; one that is killed
//           leaves the object to gc.
class Session {
 public:
  static constexpr Duration kBeat = Duration::seconds(10);
  static constexpr Duration kTtl = Duration::seconds(30);

  // `prefix`: of the volume's keys, with '/' at its end.
  static Async<Session> begin(object::ObjectStore& store, env::Random& random, std::string prefix,
                              SessionRecord record, async::StopToken stop);

  // Goes on with the session of a process that has ended, as it was read from `key`; `who` is the
  // process from now on. None when somebody else does, or it is not there any more. Of a branch the
  // process before may live: it is told that it is no more the owner. `who` has its term then, and
  // the number of the last list of garbage, up to which nothing that a branch pins was condemned.
  // `has`: what a branch has from then on.
  enum class BranchHas : std::uint8_t { kWhatItHad, kItsBase };
  static Async<std::optional<Session>> take_over(object::ObjectStore& store, env::Random& random,
                                                 std::string key, object::Object there,
                                                 SessionRecord who, async::StopToken stop,
                                                 BranchHas has = BranchHas::kWhatItHad);

  const SessionRecord& record() const { return record_; }
  const std::string& key() const { return key_; }
  // Nonces of the names of what it puts: each begins with its tag.
  env::Random& nonces() { return *nonces_; }

  const std::string& tag() const { return tag_; }  // 8 digits.
  // Says something new, and counts the beat up. kConflict when it is not there any more.
  // `overtaken`: whether a later call has begun; then nothing more is said, and nothing is wrong.
  using Overtaken = std::function<bool()>;
  Async<void> replace(SessionRecord next, Overtaken overtaken = [] { return false; });
  // Removes it, unless somebody has taken it over. It says that it has ended first, so that nobody
  // takes it over while the request that removes it may be late.
  Async<void> end();
  Error is_lost() const;

 private:
  class Nonces;
  Session(object::ObjectStore& store, std::shared_ptr<env::Random> nonces, std::string key,
          SessionRecord record, async::StopToken stop);

  object::ObjectStore* store_;
  async::StopToken stop_;
  SessionRecord record_;
  std::shared_ptr<env::Random> nonces_;
  std::string key_;
  std::string tag_;
  std::string etag_;
};

// The tag of a session by its key, and of an object by the digits after its '-'. Empty for a name
// that has none.
std::string session_tag(std::string_view session_key);
std::string object_tag(std::string_view key);

}  // namespace runnel::volume
