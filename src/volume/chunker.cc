#include "volume/chunker.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/split_mix.h"

namespace runnel::volume {
namespace {

// Part of the format only in so far as other numbers would find no cut of before again.
std::array<std::uint64_t, 256> make_gears() {
  std::array<std::uint64_t, 256> gears;
  SplitMix64 numbers(0x52554E4E454C);
  for (std::uint64_t& gear : gears) gear = numbers.next();
  return gears;
}

// The highest `bits` bits, which depend on the most bytes.
std::uint64_t mask_of(int bits) { return ~std::uint64_t{0} << (64 - bits); }

}  // namespace

std::size_t first_chunk(std::string_view bytes, const ChunkSizes& sizes) {
  CHECK(std::has_single_bit(sizes.usual), "the usual size of a chunk is a power of two");
  static const std::array<std::uint64_t, 256> kGears = make_gears();
  const std::size_t end = std::min(bytes.size(), sizes.most);
  if (end <= sizes.least) return end;
  const int bits = std::countr_zero(sizes.usual);
  // Cuts before the usual size are made rarer and those behind it more frequent.
  const std::uint64_t early = mask_of(bits + 2);
  const std::uint64_t late = mask_of(bits - 2);
  std::uint64_t hash = 0;
  const auto cut = [&](std::size_t from, std::size_t until, std::uint64_t mask) {
    for (std::size_t at = from; at < until; ++at) {
      hash = (hash << 1) + kGears[static_cast<unsigned char>(bytes[at])];
      if ((hash & mask) == 0) return at + 1;
    }
    return std::size_t{0};
  };
  const std::size_t usual = std::min(sizes.usual, end);
  if (const std::size_t at = cut(sizes.least, usual, early)) return at;
  if (const std::size_t at = cut(usual, end, late)) return at;
  return end;
}

}  // namespace runnel::volume
