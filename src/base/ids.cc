#include "base/ids.h"

#include <array>

#include "base/check.h"

namespace runnel {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// The bytes of `text` from `begin` on as a number, the first the most significant.
std::uint64_t word_at(std::string_view text, std::size_t begin) {
  std::uint64_t word = 0;
  for (std::size_t at = begin; at < begin + kWordBytes; ++at) {
    word = word << 8U | (at < text.size() ? static_cast<unsigned char>(text[at]) : 0U);
  }
  return word;
}

bool fits(std::string_view text) {
  return text.size() <= JobId::kBytesMax && text.find('\0') == std::string_view::npos;
}

}  // namespace

JobId::JobId(std::string_view text) : first_(word_at(text, 0)), rest_(word_at(text, kWordBytes)) {
  CHECK(fits(text), "an id of a job that was made here is too long, or holds a zero byte");
}

Result<JobId> JobId::parse(std::string_view text) {
  if (fits(text)) return JobId(text);
  return Error(Errc::kInvalid, "an id of a job has at most " + std::to_string(kBytesMax) +
                                   " bytes, none of them zero")
      .with_value(std::string(text))
      .with_hint("list the jobs: runnel ps -a");
}

std::string JobId::str() const {
  std::array<char, kBytesMax> bytes{};
  std::size_t size = 0;
  for (const std::uint64_t word : {first_, rest_}) {
    for (std::size_t shift = 8 * kWordBytes; shift > 0; shift -= 8) {
      const auto byte = static_cast<char>(word >> (shift - 8) & 0xFFU);
      if (byte == 0) return {bytes.data(), size};
      bytes[size++] = byte;
    }
  }
  return {bytes.data(), size};
}

}  // namespace runnel
