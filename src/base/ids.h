#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/split_mix.h"

namespace runnel {

// Text with a meaning: a JobId is not a NodeId. Empty means "none".
template <typename Tag>
class NamedText {
 public:
  NamedText() = default;
  explicit NamedText(std::string text) : text_(std::move(text)) {}

  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }
  friend auto operator<=>(const NamedText&, const NamedText&) = default;
  friend std::ostream& operator<<(std::ostream& out, const NamedText& id) {
    return out << id.text_;
  }

 private:
  std::string text_;
};

// An integer with a meaning: an attempt number is not a task index.
template <typename Tag, typename Int = std::int64_t>
class NamedInt {
 public:
  constexpr NamedInt() = default;
  explicit constexpr NamedInt(Int value) : value_(value) {}

  constexpr Int value() const { return value_; }
  friend constexpr auto operator<=>(NamedInt, NamedInt) = default;
  friend std::ostream& operator<<(std::ostream& out, NamedInt id) { return out << id.value_; }

 private:
  Int value_ = 0;
};

// The id of a job: text of at most 16 bytes, held in place. Empty means "none".
//
// Contract: ids compare as their texts do, byte by byte. A text from outside comes in by parse(),
//           which refuses what does not fit; the constructor is for ids of our own making.
// Threads:  a value.
// Lifetime: owns all that it is; str() is a copy.
// Why:      the key of nearly every map and a field of nearly every event: two words that compare
//           without a call and copy without an allocation (docs/design/kinds.md).
class JobId {
 public:
  static constexpr std::size_t kBytesMax = 16;

  constexpr JobId() = default;
  explicit JobId(std::string_view text);
  static Result<JobId> parse(std::string_view text);

  std::string str() const;
  constexpr bool empty() const { return first_ == 0; }
  std::size_t hash() const { return scramble(first_ ^ scramble(rest_)); }

  friend constexpr auto operator<=>(const JobId&, const JobId&) = default;
  friend std::ostream& operator<<(std::ostream& out, const JobId& id) { return out << id.str(); }

 private:
  // The text's bytes, most significant first, and zeroes behind them: so numbers sort as texts do.
  std::uint64_t first_ = 0;
  std::uint64_t rest_ = 0;
};

using ProjectId = NamedText<struct ProjectTag>;
using QueueId = NamedText<struct QueueTag>;
using NodeId = NamedText<struct NodeTag>;
// One life of a node's runner: a new one whenever the machine boots or the runner starts anew.
using Incarnation = NamedText<struct IncarnationTag>;

using StepIndex = NamedInt<struct StepTag, std::int32_t>;  // Position in the job's step list.
using TaskIndex = NamedInt<struct TaskTag, std::int64_t>;  // 0-based sample of a step.
using AttemptNumber = NamedInt<struct AttemptTag, std::int32_t>;  // From 1, grows with each retry.
using LaneId = NamedInt<struct LaneTag, std::int64_t>;        // A held allocation; see brain::Lane.
using Epoch = NamedInt<struct EpochTag, std::int64_t>;        // One term of a control process.
using EventSeq = NamedInt<struct EventSeqTag, std::int64_t>;  // 1-based place in the event log.
using BatchSeq = NamedInt<struct BatchSeqTag, std::int64_t>;  // 1-based place of a batch.

}  // namespace runnel

template <typename Tag>
struct std::hash<runnel::NamedText<Tag>> {
  std::size_t operator()(const runnel::NamedText<Tag>& id) const noexcept {
    return std::hash<std::string>()(id.str());
  }
};

template <>
struct std::hash<runnel::JobId> {
  std::size_t operator()(const runnel::JobId& id) const noexcept { return id.hash(); }
};

template <typename Tag, typename Int>
struct std::hash<runnel::NamedInt<Tag, Int>> {
  std::size_t operator()(const runnel::NamedInt<Tag, Int>& id) const noexcept {
    return std::hash<Int>()(id.value());
  }
};
