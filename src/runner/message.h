#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/binary.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/order.h"
#include "model/refs.h"
#include "model/report.h"
#include "runner/text_block.h"

namespace runnel::runner {

// What agent and runner say to each other over the runner's socket (docs/design/runner.md).
//
// A frame is its body's length (4 bytes, little endian) and the body: one byte of type, then
// fields. Lists travel whole: many starts in one frame, many reports in one frame.

inline constexpr std::uint32_t kRunnerProtocolVersion = 2;
inline constexpr std::size_t kFrameHeaderBytes = 4;
inline constexpr std::size_t kFrameBytesMax = 16 << 20;
inline constexpr std::size_t kFrameEntriesMax = 65'536;
inline constexpr std::size_t kArgumentsMax = 65'536;
inline constexpr std::size_t kRanksPerPlaceMax = 4'096;
inline constexpr std::size_t kNameBytesMax = 4'096;

// Where an attempt's RUNNEL_TASK_DIR is.
enum class TaskFolderKind : std::uint8_t {
  kLane,     // Gone at the end when nothing was left in it.
  kLasting,  // Stays, even empty: the task may be tried again, or several places share the folder.
};

// The ranks of one attempt on one node: what the runner needs to start them together.
struct PlaceStart {
  NodeId node;
  model::AttemptRef attempt;
  LaneId lane;
  std::int32_t first_rank = 0;
  std::vector<std::string> argv;
  TextBlock env;                    // "NAME=value"; the same for all ranks.
  std::vector<TextBlock> rank_env;  // One per rank; at least one rank.
  std::string workdir;
  TaskFolderKind task_folder = TaskFolderKind::kLane;
  std::string checkpoint_dir;  // Inside the task's folder.
  Bytes memory_max;            // Zero: no limit.
  Duration max_duration;       // Zero: no limit.
  Duration grace;
  Bytes max_log;                // Zero: no limit.
  std::int32_t port_check = 0;  // Nonzero: must be free on this machine, else kPortBusy.

  std::int32_t rank_count() const { return static_cast<std::int32_t>(rank_env.size()); }
  friend bool operator==(const PlaceStart&, const PlaceStart&) = default;
};

// Which attempt of which logical node: several nodes share one runner.
struct AttemptOnNode {
  NodeId node;
  model::AttemptRef attempt;
  friend auto operator<=>(const AttemptOnNode&, const AttemptOnNode&) = default;
};

struct PlaceStop {
  AttemptOnNode of;
  Duration grace;
  model::StopReason reason = model::StopReason::kCancelled;
  friend bool operator==(const PlaceStop&, const PlaceStop&) = default;
};

// What the runner knows of one rank.
struct RankFact {
  enum class State : std::uint8_t { kQueued, kRunning, kEnded };
  NodeId node;
  State state = State::kQueued;
  model::RankReport report;
  friend bool operator==(const RankFact&, const RankFact&) = default;
};

// Agent to runner.
struct Hello {
  std::uint32_t version = kRunnerProtocolVersion;
  Epoch epoch;
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct StartBatch {
  std::vector<PlaceStart> places;
  friend bool operator==(const StartBatch&, const StartBatch&) = default;
};
struct StopBatch {
  std::vector<PlaceStop> stops;
  friend bool operator==(const StopBatch&, const StopBatch&) = default;
};
struct ForgetBatch {
  std::vector<AttemptOnNode> attempts;
  friend bool operator==(const ForgetBatch&, const ForgetBatch&) = default;
};
// The job's folders are about to go: close what is open there.
struct RemoveJob {
  JobId job;
  friend bool operator==(const RemoveJob&, const RemoveJob&) = default;
};
// The agent leaves for good: once nothing runs, the runner need not wait for another one.
struct Leave {
  friend bool operator==(const Leave&, const Leave&) = default;
};

// Runner to agent. Welcome is followed by the inventory: facts, the last frame of them marked.
struct Welcome {
  std::uint32_t version = kRunnerProtocolVersion;
  Incarnation incarnation;
  std::int64_t pid = 0;
  std::string notice;         // A sentence when something about the start is worth telling.
  bool crashed_idle = false;  // The runner before was killed while nothing of its ran.
  friend bool operator==(const Welcome&, const Welcome&) = default;
};
struct Refused {
  std::string reason;
  friend bool operator==(const Refused&, const Refused&) = default;
};
enum class FactsKind : std::uint8_t { kNews, kInventory, kInventoryEnd };
struct Facts {
  FactsKind kind = FactsKind::kNews;
  std::vector<RankFact> ranks;
  friend bool operator==(const Facts&, const Facts&) = default;
};

using Message = std::variant<Hello, StartBatch, StopBatch, ForgetBatch, RemoveJob, Leave, Welcome,
                             Refused, Facts>;

// Whether a runner takes the place: agents ask before they send, runners before they believe.
// kInvalid with a sentence otherwise.
Result<void> check_place(const PlaceStart& place);

// Appends the message as one frame. A message over kFrameBytesMax is our bug: senders split.
void encode_frame(const Message& message, std::string& out);

// The body of one frame. Never trusts: any bytes give a message or kCorrupt.
Result<Message> decode_body(std::string_view body);

// How many bytes of `buffer` the first whole frame takes; 0 when it is not whole yet; kCorrupt when
// its length is over the maximum.
Result<std::size_t> frame_size(std::string_view buffer);

// Shared with the journal.
void encode(Encoder& out, const model::AttemptRef& attempt);
model::AttemptRef decode_attempt(Decoder& in);
void encode(Encoder& out, const RankFact& fact);
RankFact decode_fact(Decoder& in);

}  // namespace runnel::runner
