#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace runnel {

// Appends integers and text in a compact binary form: variable-length integers, zigzag for signed
// ones, text with its length in front.
//
// Threads: none of its own.
class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  Encoder& byte(std::uint8_t value);
  Encoder& natural(std::uint64_t value);
  Encoder& integer(std::int64_t value);
  Encoder& text(std::string_view value);

 private:
  std::string& out_;
};

// Reads what Encoder wrote, and trusts none of it.
//
// Contract: a read beyond the end or over a limit makes failed() true for good; it and every later
//           read then yield zero or empty text. Nothing is allocated beyond the bytes present.
//           Callers test failed() once, at the end.
// Threads:  none of its own. The input is borrowed.
class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}

  std::uint8_t byte();
  std::uint64_t natural();
  std::int64_t integer();
  // An integer that must lie in [low, high].
  std::int64_t integer_in(std::int64_t low, std::int64_t high);
  std::int32_t integer32();
  std::string_view text(std::size_t bytes_max = kTextBytesMax);
  // The length of a list; each entry takes at least one byte, so a lie is found at once.
  std::size_t count(std::size_t entries_max);

  bool failed() const { return failed_; }
  void fail();
  bool at_end() const { return in_.empty(); }
  // All was read, and nothing is left.
  bool complete() const { return !failed_ && in_.empty(); }

  static constexpr std::size_t kTextBytesMax = 2 << 20;

 private:
  std::string_view in_;
  bool failed_ = false;
};

// FNV-1a: tells a torn record from a whole one.
std::uint32_t checksum32(std::string_view bytes);

}  // namespace runnel
