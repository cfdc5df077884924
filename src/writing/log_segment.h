#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "writing/change.h"

namespace runnel::writing {

// A file of a branch's log: a header, then frames, then zeros up to its full size.
// docs/design/write_log.md has the bytes.

// A checkpoint begins so many numbers further, beyond all records that may be on their way.
inline constexpr Sequence kCheckpointGap = 1 << 20;

inline constexpr std::size_t kSegmentHeaderBytes = 4096;
inline constexpr std::size_t kFrameHeadBytes = 48;
inline constexpr std::size_t kFrameAlign = 8;
inline constexpr std::size_t kNameBytesMax = 1024;  // Of the volume and the branch in a header.

struct SegmentHeader {
  std::string volume;  // Its uuid.
  std::string branch;
  std::uint64_t nonce = 0;   // Of the log: frames of another one are none here.
  std::uint64_t size = 0;    // Bytes of the segment.
  std::uint64_t number = 0;  // Of the segment, from 1 on.
  std::uint64_t before = 0;  // The number of the segment that it goes on from; 0: it is the first.
  // With a checkpoint: nothing before it is needed once that is whole.
  bool begins_anew = false;
  Sequence first = 1;          // Of its first frame,
  std::uint64_t previous = 0;  // and the sum of the one before; the nonce where there is none.
  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

// kSegmentHeaderBytes; names are checked before.
std::string encode_segment_header(const SegmentHeader& header);
// kCorrupt for what is none or damaged, kUnsupported for a later format.
Result<SegmentHeader> decode_segment_header(std::string_view bytes);

struct Frame {
  Sequence sequence = 0;
  Sequence durable = 0;  // Frames up to it had been synced when this one was written.
  std::uint64_t previous = 0;
  std::uint64_t sum = 0;  // Of its head, which has the sums of its payload and of the frame before.
  std::string_view payload;
};

std::size_t frame_bytes(std::size_t payload);
// Appends a frame, and gives its sum.
std::uint64_t append_frame(std::string& out, std::uint64_t nonce, Sequence sequence,
                           Sequence durable, std::uint64_t previous, std::string_view payload);

// What a segment has.
struct SegmentFrames {
  std::vector<Frame> frames;  // Whole and in order; their payloads are in the segment's bytes.
  std::size_t end = 0;        // Behind the last of them.
  std::size_t lost = 0;       // Whole frames that lie behind one that is not.
  // A frame that had been synced, and is not whole: its number.
  std::optional<Sequence> damaged;
};

// Reads the frames of a segment, of which `bytes` are all. What was written last before a power
// loss may be there in part, a later frame whole and an earlier one not: that is no damage as long
// as no frame says that what is missing had been synced.
SegmentFrames read_frames(const SegmentHeader& header, std::string_view bytes);

}  // namespace runnel::writing
