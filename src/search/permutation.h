#pragma once

#include <cstdint>

namespace runnel::search {

// A key from a key and one more number: the way to give every draw its own randomness.
std::uint64_t derive(std::uint64_t key, std::uint64_t number);

// Where `position` goes under the pseudo-random permutation of 0 .. size-1 that the key picks.
// 1 <= size <= kPermutationMax; no memory, a few dozen operations.
std::uint64_t permute(std::uint64_t position, std::uint64_t size, std::uint64_t key);

inline constexpr std::uint64_t kPermutationMax = std::uint64_t{1} << 62;

}  // namespace runnel::search
