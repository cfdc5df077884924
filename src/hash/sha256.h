#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace runnel::hash {

inline constexpr std::size_t kDigestBytes = 32;
using Digest = std::array<char, kDigestBytes>;

// SHA-256 (FIPS 180-4).
Digest sha256(std::string_view bytes);

class DigestContext;

// The same of bytes that come in pieces. finish() once, at the end.
//
// Threads: none of its own.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& add(std::string_view bytes);
  Digest finish();

 private:
  std::unique_ptr<DigestContext> context_;
};

// Two lower-case hexadecimal digits for each byte.
std::string hex(std::string_view bytes);
inline std::string hex(const Digest& digest) { return hex({digest.data(), digest.size()}); }

// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// One link of a hash chain: sha256(previous_hex + "\n" + payload). The first link has previous "".
std::string chain(std::string_view previous_hex, std::string_view payload);

}  // namespace runnel::hash
