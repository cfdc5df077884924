#include "volume/digits.h"

#include <charconv>

#include "volume/fixed.h"
#include "volume/manifest.h"

namespace runnel::volume {
namespace {

Error no_digits(std::string_view text, std::size_t count) {
  return Error(Errc::kCorrupt, "not " + std::to_string(count) + " hexadecimal digits")
      .with_value(std::string(text));
}

// The byte that two lower-case digits write.
bool read_byte(std::string_view digits, char& byte) {
  unsigned value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  byte = static_cast<char>(value);
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size();
}

}  // namespace

std::string digits_of(std::uint64_t number) {
  std::string bytes;
  append_u64be(bytes, number);
  return hash::hex(bytes);
}

bool is_digits(std::string_view text, std::size_t count) {
  return text.size() == count &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  const bool all = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  if (!all || digits.size() != 16) return no_digits(digits, 16);
  return number;
}

Result<hash::Digest> digest_of(std::string_view digits) {
  hash::Digest digest;
  if (digits.size() != 2 * digest.size()) return no_digits(digits, 2 * digest.size());
  for (std::size_t i = 0; i < digest.size(); ++i) {
    if (!read_byte(digits.substr(2 * i, 2), digest[i])) return no_digits(digits, 2 * digest.size());
  }
  return digest;
}

std::optional<Error> later_format(const json::Value& document) {
  const json::Value* format = document.find("format");
  if (format == nullptr || !format->is_int() || format->as_int() <= kFormat) return std::nullopt;
  return Error(Errc::kUnsupported, "the volume has format " + std::to_string(format->as_int()) +
                                       "; this build reads up to " + std::to_string(kFormat))
      .with_value(std::to_string(format->as_int()))
      .with_hint("use a newer build of runnel");
}

}  // namespace runnel::volume
