#pragma once

#include <cstdint>
#include <string_view>

#include "base/split_mix.h"
#include "hash/xxh3.h"

namespace runnel::bench {

// A sum over blocks of a file, in whatever order they come: who has read the same has the same.
class BlockSums {
 public:
  // What is longer than a block begins with one.
  void add(std::uint64_t offset, std::string_view bytes) {
    bytes_ += bytes.size();
    while (!bytes.empty()) {
      const std::string_view block = bytes.substr(0, kBlock);
      sum_ ^= hash::xxh3(block, offset);
      offset += block.size();
      bytes.remove_prefix(block.size());
    }
  }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kBlock = 1 << 20;

  std::uint64_t sum_ = 0;
  std::uint64_t bytes_ = 0;
};

// Places of blocks of `length` bytes in a file, always the same ones.
class RandomPlaces {
 public:
  RandomPlaces(std::uint64_t file_bytes, std::uint64_t length)
      : blocks_(file_bytes / length), length_(length) {}
  std::uint64_t next() { return numbers_.next() % blocks_ * length_; }

 private:
  const std::uint64_t blocks_;
  const std::uint64_t length_;
  SplitMix64 numbers_{1};
};

}  // namespace runnel::bench
