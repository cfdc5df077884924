#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "store/batch.h"

namespace runnel::store {

// A place between two batches: the end of the log, or the end of what was pruned.
struct Head {
  BatchSeq last;  // 0 while there is no batch.
  EventSeq next_event = EventSeq(1);
  std::string hash;  // The last batch's; "" while there is none.
  Epoch epoch;       // The latest lease's.

  friend bool operator==(const Head&, const Head&) = default;
};

// What a log keeps: the batches after `base` up to `head`.
struct Kept {
  Head base;  // After the newest batch that is no longer kept; batch 0 while all are.
  Head head;

  friend bool operator==(const Kept&, const Kept&) = default;
};

// The record of something finished, which left the state: found by key, listed by sort key.
inline constexpr char kAboutAnother = '=';
struct ArchiveEntry {
  std::string key;       // Unique; a put replaces. What is said about another begins with '='.
  std::string sort_key;  // Lists run from the largest to the smallest; equal ones by key.
  std::string text;

  friend bool operator==(const ArchiveEntry&, const ArchiveEntry&) = default;
};

struct ArchiveQuery {
  std::string sort_prefix;  // Only entries whose sort key begins with it.
  std::int64_t limit = 100;
  std::string page_token;  // The next_token of the page before; "" for the first.
};

struct ArchivePage {
  std::vector<ArchiveEntry> entries;  // Newest first.
  std::string next_token;             // "" on the last page.
};

inline constexpr std::int64_t kReadBatchesMax = 10'000;
inline constexpr Bytes kReadBytesMax = Bytes::mebi(64);
inline constexpr std::int64_t kArchivePageMax = 1000;

// Reads the history and the archive.
//
// Contract: each call sees all that was durable when it began, of one moment. Damage is kCorrupt
//           and names the batch.
// Threads:  one.
class LogReader {
 public:
  virtual ~LogReader() = default;

  virtual Result<Kept> kept() = 0;

  // The next batches after `after`, verified: at most `limit` (and kReadBatchesMax), fewer when
  // they exceed kReadBytesMax together, but at least one when there is one. kGone when they were
  // pruned.
  virtual Result<std::vector<Batch>> read(BatchSeq after, std::int64_t limit) = 0;

  // The batch that holds this event. kNotFound when it is not there yet, kGone when it was pruned.
  virtual Result<Batch> find(EventSeq event) = 0;

  virtual Result<ArchiveEntry> archived(std::string_view key) = 0;
  virtual Result<ArchivePage> list_archive(const ArchiveQuery& query) = 0;
  // Up to `limit` keys that begin with `prefix`, in order: two tell that a short id is ambiguous.
  virtual Result<std::vector<std::string>> archive_keys(std::string_view prefix,
                                                        std::int64_t limit) = 0;
};

// Reads a log beside who appends to it.
//
// Contract: all that one read() looks at is the log of one moment after it began; what is appended
//           meanwhile, the next read() sees.
// Threads:  one, which may be another than the log's.
// Lifetime: closed before the log is opened anew, since who opens it must be alone.
class LogConnection {
 public:
  virtual ~LogConnection() = default;

  // The Result that `look(log)` makes of the log at one moment.
  template <typename Look>
  std::invoke_result_t<Look, LogReader&> read(Look look) {
    std::optional<std::invoke_result_t<Look, LogReader&>> made;
    TRY(at_one_moment([&made, &look](LogReader& log) { made.emplace(look(log)); }));
    CHECK(made.has_value(), "a connection showed no moment of its log");
    return *std::move(made);
  }

 private:
  // Calls `look` once, or returns an error.
  virtual Result<void> at_one_moment(const std::function<void(LogReader&)>& look) = 0;
};

}  // namespace runnel::store
