#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "async/stream.h"
#include "base/result.h"
#include "volume/object_id.h"

namespace runnel::volume_server {

// What goes over a connection by which parts of packs are asked for, both ways, as the machine has
// these structs in memory: both ends are on it.

// A range of at most this is asked for at once.
inline constexpr std::uint64_t kRangeMax = 64 << 20;

struct PackQuestion {
  std::uint64_t number = 0;  // Of the question, chosen by who asks; not 0.
  std::array<char, volume::ObjectId::kBytes> object{};
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t is_anew = 0;      // 1: volume::Freshness::kAnew.
  std::uint32_t is_expected = 0;  // 1: volume::Urgency::kExpected.
};
static_assert(sizeof(PackQuestion) == 48);

// Comes before the bytes, or before the sentence of an error.
struct PackAnswer {
  std::uint64_t number = 0;  // Of its question; 0: of none, it says that the server is still at it.
  std::uint32_t size = 0;    // What follows.
  std::uint32_t is_error = 0;  // 0: the bytes follow; 1: a sentence.
};
static_assert(sizeof(PackAnswer) == 16);

template <typename Frame>
using FrameBytes = std::array<char, sizeof(Frame)>;

// Until the buffer is full; kUnavailable when the other end is gone before that.
Async<void> read_whole(async::Stream& stream, std::span<char> into);

template <typename Frame>
Async<Frame> read_frame(async::Stream& stream) {
  FrameBytes<Frame> bytes{};
  CO_TRY(co_await read_whole(stream, bytes));
  co_return std::bit_cast<Frame>(bytes);
}

}  // namespace runnel::volume_server
