#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace runnel::volume {

// Numbers and bytes of a fixed size, as base/binary.h has those of any size.

inline void append_u64le(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
}

// Sorts as bytes do.
inline void append_u64be(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

// Contract: a read beyond the end makes failed() true for good, and yields zeros.
// Threads:  none of its own. The input is borrowed.
class FixedReader {
 public:
  explicit FixedReader(std::string_view in) : in_(in) {}

  template <std::size_t Size>
  void take(std::array<char, Size>& into) {
    const std::string_view bytes = some(Size);
    if (bytes.size() == Size) std::copy(bytes.begin(), bytes.end(), into.begin());
  }
  std::uint64_t u64le() {
    std::uint64_t value = 0;
    int shift = 0;
    for (const char c : some(8)) {
      value |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
      shift += 8;
    }
    return value;
  }
  std::uint64_t u64be() {
    std::uint64_t value = 0;
    for (const char c : some(8)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }

  std::string_view rest() const { return in_; }
  bool failed() const { return failed_; }

 private:
  std::string_view some(std::size_t size) {
    if (failed_ || in_.size() < size) {
      failed_ = true;
      return {};
    }
    const std::string_view bytes = in_.substr(0, size);
    in_.remove_prefix(size);
    return bytes;
  }

  std::string_view in_;
  bool failed_ = false;
};

}  // namespace runnel::volume
