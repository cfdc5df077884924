#include "writing/log_segment.h"

#include <algorithm>

#include "base/binary.h"
#include "base/check.h"
#include "hash/xxh3.h"
#include "writing/change.h"

namespace runnel::writing {
namespace {

constexpr std::string_view kHeaderMagic = "RNLWLOG1";
constexpr std::uint64_t kFormat = 1;
constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 62;
constexpr std::string_view kFrameMagic = "RNLF";
constexpr std::size_t kSumBytes = 8;

void append_number(std::string& out, std::uint64_t value, int bytes) {
  for (int at = 0; at < bytes; ++at) out += static_cast<char>(value >> (8 * at) & 0xFF);
}

std::uint64_t number_at(std::string_view bytes, std::size_t place, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t at = size; at > 0; --at) {
    value = value << 8 | static_cast<unsigned char>(bytes[place + at - 1]);
  }
  return value;
}

Error damaged_header() { return {Errc::kCorrupt, "has a header that is damaged"}; }

// The frame at a place, whatever comes before it; none where no whole one is. The payload is looked
// at last: its length counts once the head is the log's own.
std::optional<Frame> frame_at(std::uint64_t nonce, std::string_view bytes, std::size_t place) {
  if (place > bytes.size() || bytes.size() - place < kFrameHeadBytes) return std::nullopt;
  const std::string_view head = bytes.substr(place, kFrameHeadBytes);
  if (!head.starts_with(kFrameMagic)) return std::nullopt;
  const std::uint64_t sum = number_at(head, kFrameHeadBytes - kSumBytes, kSumBytes);
  if (hash::xxh3(head.substr(0, kFrameHeadBytes - kSumBytes), nonce) != sum) return std::nullopt;
  const std::size_t size = number_at(head, 4, 4);
  if (size > kRecordBytesMax || size > bytes.size() - place - kFrameHeadBytes) return std::nullopt;
  Frame frame;
  frame.sequence = number_at(head, 8, 8);
  frame.durable = number_at(head, 16, 8);
  frame.previous = number_at(head, 24, 8);
  frame.sum = sum;
  frame.payload = bytes.substr(place + kFrameHeadBytes, size);
  if (hash::xxh3(frame.payload, nonce) != number_at(head, 32, 8)) return std::nullopt;
  return frame;
}

// Looks behind the last whole frame for others.
void look_behind(std::uint64_t nonce, std::string_view bytes, Sequence next, SegmentFrames& read) {
  for (std::size_t place = bytes.find(kFrameMagic, read.end); place != std::string_view::npos;) {
    const bool may_be_one = place % kFrameAlign == 0;
    const auto later = may_be_one ? frame_at(nonce, bytes, place) : std::nullopt;
    std::size_t behind = place + 1;
    if (later && later->sequence >= next) {
      ++read.lost;
      if (later->durable >= next) read.damaged = next;
      behind = place + frame_bytes(later->payload.size());
    }
    place = bytes.find(kFrameMagic, behind);
  }
}

}  // namespace

std::string encode_segment_header(const SegmentHeader& header) {
  std::string body;
  Encoder(body)
      .natural(kFormat)
      .text(header.volume)
      .text(header.branch)
      .natural(header.nonce)
      .natural(header.size)
      .natural(header.number)
      .natural(header.before)
      .byte(header.begins_anew ? 1 : 0)
      .natural(header.first)
      .natural(header.previous);
  std::string out(kHeaderMagic);
  append_number(out, body.size(), 4);
  out += body;
  append_number(out, hash::xxh3(out), 8);
  CHECK(out.size() <= kSegmentHeaderBytes, "the names in a header are checked before");
  out.resize(kSegmentHeaderBytes, '\0');
  return out;
}

Result<SegmentHeader> decode_segment_header(std::string_view bytes) {
  const std::size_t head = kHeaderMagic.size() + 4;
  if (bytes.size() < kSegmentHeaderBytes || !bytes.starts_with(kHeaderMagic)) {
    return damaged_header();
  }
  const std::size_t size = number_at(bytes, kHeaderMagic.size(), 4);
  if (size > kSegmentHeaderBytes - head - kSumBytes) return damaged_header();
  const std::string_view summed = bytes.substr(0, head + size);
  if (hash::xxh3(summed) != number_at(bytes, head + size, 8)) return damaged_header();
  Decoder body(summed.substr(head));
  const std::uint64_t format = body.natural();
  if (!body.failed() && format > kFormat) {
    return Error(Errc::kUnsupported, "has format " + std::to_string(format) +
                                         ", and this build knows " + std::to_string(kFormat))
        .with_hint("use the build that wrote it, or a later one");
  }
  SegmentHeader header;
  header.volume = body.text();
  header.branch = body.text();
  header.nonce = body.natural();
  header.size = body.natural();
  header.number = body.natural();
  header.before = body.natural();
  header.begins_anew = body.byte() != 0;
  header.first = body.natural();
  header.previous = body.natural();
  const bool is_sound = header.number > 0 && header.number < kNumberMax &&
                        header.before < header.number && header.first > 0 &&
                        header.first < kNumberMax;
  if (!body.complete() || !is_sound) return damaged_header();
  return header;
}

std::size_t frame_bytes(std::size_t payload) {
  return (kFrameHeadBytes + payload + kFrameAlign - 1) / kFrameAlign * kFrameAlign;
}

std::uint64_t append_frame(std::string& out, std::uint64_t nonce, Sequence sequence,
                           Sequence durable, std::uint64_t previous, std::string_view payload) {
  CHECK(out.size() % kFrameAlign == 0, "frames begin where a reader looks for them");
  CHECK(payload.size() <= kRecordBytesMax, "a record is longer than a reader takes");
  CHECK(durable < sequence, "a record was synced before it was written");
  std::string head(kFrameMagic);
  append_number(head, payload.size(), 4);
  append_number(head, sequence, 8);
  append_number(head, durable, 8);
  append_number(head, previous, 8);
  append_number(head, hash::xxh3(payload, nonce), 8);
  const std::uint64_t sum = hash::xxh3(head, nonce);
  append_number(head, sum, 8);
  out += head;
  out += payload;
  out.resize((out.size() + kFrameAlign - 1) / kFrameAlign * kFrameAlign, '\0');
  return sum;
}

SegmentFrames read_frames(const SegmentHeader& header, std::string_view bytes) {
  SegmentFrames read;
  read.end = std::min(kSegmentHeaderBytes, bytes.size());
  Sequence next = header.first;
  std::uint64_t previous = header.previous;
  for (auto frame = frame_at(header.nonce, bytes, read.end); frame;
       frame = frame_at(header.nonce, bytes, read.end)) {
    if (frame->sequence != next || frame->previous != previous) break;
    read.frames.push_back(*frame);
    read.end += frame_bytes(frame->payload.size());
    previous = frame->sum;
    ++next;
  }
  look_behind(header.nonce, bytes, next, read);
  return read;
}

}  // namespace runnel::writing
