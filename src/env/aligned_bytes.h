#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace runnel::env {

// Bytes in memory that a disk can write to and read from without the kernel's copy: they begin at a
// multiple of kAlign, and have room up to one. They are not set to anything.
//
// Threads: a value; who shares it with another thread no longer writes to it.
class AlignedBytes {
 public:
  static constexpr std::size_t kAlign = 4 << 10;

  explicit AlignedBytes(std::size_t size);
  ~AlignedBytes();
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;

  std::size_t size() const { return size_; }
  std::span<char> span() { return {bytes_, size_}; }
  std::string_view view() const { return {bytes_, size_}; }
  // With the bytes up to the next multiple of kAlign.
  std::span<char> room() { return {bytes_, rounded(size_)}; }
  std::string_view padded() const { return {bytes_, rounded(size_)}; }

  static constexpr std::size_t rounded(std::size_t size) {
    return (size + kAlign - 1) / kAlign * kAlign;
  }

 private:
  std::size_t size_;
  char* bytes_;
};

}  // namespace runnel::env
