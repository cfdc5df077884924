#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace runnel::volume {

// A version and where its manifest is.
struct VersionPlace {
  std::string version;
  std::string key;  // Of its manifest.
  std::int64_t generation = 0;
  friend bool operator==(const VersionPlace&, const VersionPlace&) = default;
};

// The promise of a volume to keep a version for a clone of it.
struct Clone {
  VersionPlace place;
  std::string nonce;        // By chance: whose making of the clone it is.
  bool is_made = false;     // Else it may be on its way, or its making was killed.
  bool has_chunks = false;  // Whether it takes over chunks by the version's tree of them.
  friend bool operator==(const Clone&, const Clone&) = default;
};

// The right to publish versions, which one writer has alone. docs/design/volume_lease.md.
struct Lease {
  std::int64_t epoch = 0;  // Counted up by each who takes it.
  std::string session;     // The name of the holder's, 16 digits; empty: nobody has it.
  friend bool operator==(const Lease&, const Lease&) = default;
};

// The feature of a volume that has files which are objects of other buckets.
inline constexpr std::string_view kLinkedObjects = "linked-objects";
// Of one that is a clone, or that was cloned.
inline constexpr std::string_view kClones = "clones";
// Of one that somebody has, or had, a lease of.
inline constexpr std::string_view kLeases = "leases";
// Of one that has, or had, branches.
inline constexpr std::string_view kBranches = "branches";
// Of one that is being deleted, or was: nobody reads or writes it.
inline constexpr std::string_view kDeleted = "deleted";

// The one object of a volume that is overwritten, always by compare-and-swap.
struct Head {
  static constexpr std::size_t kRecentMax = 64;
  static constexpr std::size_t kInlineMax = 8 << 10;
  static constexpr std::size_t kBytesMax = 32 << 10;
  static constexpr std::int64_t kReadMax = 2 * kBytesMax;  // Bytes; nothing longer is one.
  static constexpr std::string_view kName = "head";        // Of the object, in the volume's place.
  static constexpr std::int64_t kCollectionsMax = std::int64_t{1} << 53;
  static constexpr std::size_t kTagsMax = 64;
  static constexpr std::size_t kClonesMax = 16;
  static constexpr std::size_t kBasesMax = 8;

  std::string uuid;
  std::string nonce;  // Drawn anew at each swap, so that no two heads are the same bytes.
  std::int64_t generation = 0;
  std::int64_t min_reader = 1;
  std::int64_t min_writer = 1;
  std::vector<std::string> features;
  std::string manifest_sha256;       // Of the newest version's; empty while there is none.
  std::string manifest;              // Itself, when it is short.
  std::vector<VersionPlace> recent;  // Newest first.
  std::map<std::string, VersionPlace> tags;
  std::vector<std::string> bases;       // Of a clone: the volumes that it comes of, the last first.
  std::string own_name;                 // Of a clone: its name,
  std::string promise;                  // the nonce of what was promised for it,
  bool is_made = false;                 // and whether the promise was found to be kept.
  std::map<std::string, Clone> clones;  // Volumes beside it that share its objects, by name.
  Lease lease;
  std::int64_t collections = 0;  // The number of the last list of garbage: each has its own.
  std::string condemned;         // The key of the last one; empty while there is none.
  bool swept = false;            // Whether all that it names is deleted.
  bool is_gone = false;          // Of a deleted one: nothing is left, and the name is free.

  bool has_feature(std::string_view feature) const;
  bool is_deleted() const { return has_feature(kDeleted); }
  // Whether a version may have linked objects.
  bool may_have_links() const { return has_feature(kLinkedObjects); }
  const VersionPlace* newest() const { return recent.empty() ? nullptr : &recent.front(); }
  // Its id; empty: there is none.
  std::string newest_version() const { return recent.empty() ? "" : recent.front().version; }
  // A version that the head has, by its whole id; null: none.
  const VersionPlace* find(std::string_view version) const;
  // Whether a manifest is one of a version that the head has.
  bool holds(std::string_view key) const;
  friend bool operator==(const Head&, const Head&) = default;
};

// kNotFound: a version that the head has no more.
Error was_dropped(const std::string& version);

// The head with another lease, whose volume is one that builds refuse which know none.
Head with_lease(Head head, Lease lease);

// What a head is that is to be swapped: its manifest is left out where it would be too long.
std::string encode_head(const Head& head);
// kCorrupt for what is no head; kUnsupported when a later build is needed to read it.
Result<Head> decode_head(std::string_view text);
// kConflict when the bytes are the head of a volume, which lies at `place` and is about to be
// replaced by a file: all its versions would be gone.
Result<void> check_no_head(std::string_view bytes, const std::string& place);
// Whether what lies at a path may be one, by its name.
bool is_named_head(std::string_view path);
// kUnsupported when a later build is needed to write the volume.
Result<void> check_writable(const Head& head);

}  // namespace runnel::volume
