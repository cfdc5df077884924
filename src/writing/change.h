#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "volume/node.h"

namespace runnel::writing {

using volume::Inode;

// When a file was changed: seconds since 1970, and nanoseconds.
struct Moment {
  std::int64_t seconds = 0;
  std::uint32_t nanos = 0;
  friend bool operator==(const Moment&, const Moment&) = default;
};

// A name in a folder.
struct Place {
  Inode folder = 0;
  std::string name;
  friend auto operator<=>(const Place&, const Place&) = default;
};

// A file beside the log that has bytes which were written: a segment of the log, or a staging file.
struct DataFile {
  enum class Kind : std::uint8_t { kSegment = 1, kStaging = 2 };
  Kind kind = Kind::kSegment;
  std::uint64_t number = 0;
  friend auto operator<=>(const DataFile&, const DataFile&) = default;
};

// Where bytes are that were written.
struct DataPlace {
  DataFile file;
  std::uint64_t offset = 0;
  friend auto operator<=>(const DataPlace&, const DataPlace&) = default;
};

// Bytes that were written.
struct DataRange {
  DataPlace place;
  std::size_t length = 0;
};

// What a program has done to a branch, or what became of the branch. docs/design/write_log.md.

// The version that the records behind it change: first in a log, and in a checkpoint.
struct Based {
  std::string version;  // Empty: of a volume that has none.
  friend bool operator==(const Based&, const Based&) = default;
};

// A node as it is before the records behind this one change it: the base's own, or, in a
// checkpoint, one that is new. A change of a node that is not new has one of these before it, and
// of the folders above it, so that the log needs no base to be read, and a publish none to know
// whose hashes change.
struct Adopt {
  Inode inode = 0;
  volume::NodeKind kind = volume::NodeKind::kFile;
  bool is_new = false;  // The base has none of this number: a file is empty, and not committed.
  std::uint32_t mode = 0;
  std::optional<std::uint32_t> owner;
  std::optional<std::uint32_t> group;
  std::vector<Place> places;  // All its names: of a folder one, of the root none.
  std::uint64_t size = 0;     // Of a file of the base.
  std::string target;
  Moment modified;
  Moment accessed;
  Moment changed;
  // Of one without a name that is still open: the version that its bytes of the base are of.
  std::string bytes_of;
  friend bool operator==(const Adopt&, const Adopt&) = default;
};

// A name as a checkpoint finds it.
struct AdoptName {
  Place at;
  Inode inode = 0;  // 0: the base's own is gone.
  friend bool operator==(const AdoptName&, const AdoptName&) = default;
};

struct Create {
  Place at;
  Inode inode = 0;
  volume::NodeKind kind = volume::NodeKind::kFile;
  std::uint32_t mode = 0;  // Permission bits, 07777.
  std::optional<std::uint32_t> owner;
  std::optional<std::uint32_t> group;
  std::string target;  // Of a link.
  Moment when;
  friend bool operator==(const Create&, const Create&) = default;
};

struct Write {
  static constexpr std::size_t kBytesMax = 128 << 10;  // Longer ones are staged.
  Inode file = 0;
  std::uint64_t offset = 0;
  Moment when;
  std::string bytes;  // Last, so that they end where the record does.
  friend bool operator==(const Write&, const Write&) = default;
};

// A write whose bytes are in a file beside the log already.
struct WriteStaged {
  Inode file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  DataPlace place;
  Moment when;
  friend bool operator==(const WriteStaged&, const WriteStaged&) = default;
};

struct Truncate {
  Inode file = 0;
  std::uint64_t size = 0;
  Moment when;
  friend bool operator==(const Truncate&, const Truncate&) = default;
};

struct Rename {
  Place from;
  Place to;
  Inode moved = 0;
  Inode replaced = 0;      // What had the name; 0: nothing.
  bool exchanges = false;  // Each gets the other's name.
  Moment when;
  friend bool operator==(const Rename&, const Rename&) = default;
};

struct Link {
  Inode inode = 0;
  Place at;
  Moment when;
  friend bool operator==(const Link&, const Link&) = default;
};

struct Unlink {
  Place at;
  Inode inode = 0;
  Moment when;
  friend bool operator==(const Unlink&, const Unlink&) = default;
};

struct SetAttributes {
  Inode inode = 0;
  std::optional<std::uint32_t> mode;
  std::optional<std::uint32_t> owner;
  std::optional<std::uint32_t> group;
  std::optional<Moment> modified;
  std::optional<Moment> accessed;
  Moment when;
  friend bool operator==(const SetAttributes&, const SetAttributes&) = default;
};

// The file's bytes so far are those that a version gets.
struct Commit {
  Inode file = 0;
  friend bool operator==(const Commit&, const Commit&) = default;
};

// Nobody has the node open any more, which has no name.
struct Closed {
  Inode inode = 0;
  friend bool operator==(const Closed&, const Closed&) = default;
};

// A request that was answered before a checkpoint, and may come again.
struct Answered {
  Inode inode = 0;  // That it made; 0: none.
  friend bool operator==(const Answered&, const Answered&) = default;
};

// A publish has all that is committed before it.
struct Barrier {
  std::uint64_t number = 0;
  friend bool operator==(const Barrier&, const Barrier&) = default;
};

// The publish of a barrier is about to make this the newest version of the branch.
struct Publishing {
  std::uint64_t barrier = 0;
  std::string version;
  friend bool operator==(const Publishing&, const Publishing&) = default;
};

struct Published {
  std::uint64_t barrier = 0;
  std::string version;
  friend bool operator==(const Published&, const Published&) = default;
};

// The log's own, behind a checkpoint: what was before that is not needed any more.
struct CheckpointEnd {
  friend bool operator==(const CheckpointEnd&, const CheckpointEnd&) = default;
};

// Their order gives their numbers in the log: a new one comes last.
using Change = std::variant<Based, Adopt, AdoptName, Create, Write, WriteStaged, Truncate, Rename,
                            Link, Unlink, SetAttributes, Commit, Closed, Answered, Barrier,
                            Publishing, Published, CheckpointEnd>;

// The request of the kernel that a change is of, by which it is known when it comes again. Zeros:
// it is of none.
struct RequestId {
  std::uint64_t connection = 0;
  std::uint64_t unique = 0;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
};

struct Record {
  RequestId request;
  Change change;
  friend bool operator==(const Record&, const Record&) = default;
};

// The number of a record in its log, from 1 on.
using Sequence = std::uint64_t;

// A record as the log has it.
struct LoggedRecord {
  Record record;
  Sequence sequence = 0;
  DataPlace end;  // Behind it, and so behind the bytes of a Write.
};

inline constexpr std::size_t kRecordBytesMax = 1 << 20;

std::string encode_record(const Record& record);
// kCorrupt for what is none, kUnsupported for a change of a later build.
Result<Record> decode_record(std::string_view bytes);

}  // namespace runnel::writing
