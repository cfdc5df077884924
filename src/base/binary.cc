#include "base/binary.h"

#include <limits>

namespace runnel {

Encoder& Encoder::byte(std::uint8_t value) {
  out_.push_back(static_cast<char>(value));
  return *this;
}

Encoder& Encoder::natural(std::uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>((value & 0x7f) | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
  return *this;
}

Encoder& Encoder::integer(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return natural((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

Encoder& Encoder::text(std::string_view value) {
  natural(value.size());
  out_.append(value);
  return *this;
}

void Decoder::fail() {
  failed_ = true;
  in_ = {};
}

std::uint8_t Decoder::byte() {
  if (in_.empty()) {
    fail();
    return 0;
  }
  const auto value = static_cast<std::uint8_t>(in_.front());
  in_.remove_prefix(1);
  return value;
}

std::uint64_t Decoder::natural() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t part = byte();
    if (failed_) return 0;
    const std::uint64_t bits = part & 0x7f;
    // The tenth byte holds the last bit; more does not fit, and a padded form is refused as well.
    if (shift == 63 && bits > 1) break;
    if (shift > 0 && part == 0) break;
    value |= bits << shift;
    if ((part & 0x80) == 0) return value;
  }
  fail();
  return 0;
}

std::int64_t Decoder::integer() {
  const std::uint64_t bits = natural();
  return static_cast<std::int64_t>((bits >> 1) ^ ((bits & 1) != 0 ? ~std::uint64_t{0} : 0));
}

std::int64_t Decoder::integer_in(std::int64_t low, std::int64_t high) {
  const std::int64_t value = integer();
  if (value >= low && value <= high) return value;
  fail();
  return 0;
}

std::int32_t Decoder::integer32() {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(integer_in(Limits::min(), Limits::max()));
}

std::string_view Decoder::text(std::size_t bytes_max) {
  const std::uint64_t size = natural();
  if (size > bytes_max || size > in_.size()) {
    fail();
    return {};
  }
  const std::string_view value = in_.substr(0, size);
  in_.remove_prefix(size);
  return value;
}

std::size_t Decoder::count(std::size_t entries_max) {
  const std::uint64_t entries = natural();
  if (entries <= entries_max && entries <= in_.size()) return entries;
  fail();
  return 0;
}

std::uint32_t checksum32(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;
  for (const char c : bytes) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619U;
  return hash;
}

}  // namespace runnel
