#include "hash/sha256.h"

#include <array>
#include <initializer_list>
#include <memory>

#include <openssl/evp.h>

#include "base/check.h"

namespace runnel::hash {
namespace {

constexpr std::size_t kDigestBytes = 32;

struct FreeDigest {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
};

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// A thread's digest state. Looking up the algorithm and allocating the context cost more than
// hashing a short text, so both are done once per thread.
class Sha256 {
 public:
  Sha256() : digest_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    CHECK(digest_ != nullptr, "OpenSSL has SHA-256");
    CHECK(context_ != nullptr, "OpenSSL allocates a digest context");
  }

  std::string hex_of(std::initializer_list<std::string_view> parts) {
    std::array<unsigned char, kDigestBytes> digest;
    unsigned int size = 0;
    CHECK(EVP_DigestInit_ex2(context_.get(), digest_.get(), nullptr) == 1, "SHA-256 starts");
    for (const std::string_view part : parts) {
      CHECK(EVP_DigestUpdate(context_.get(), part.data(), part.size()) == 1, "SHA-256 goes on");
    }
    CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1, "SHA-256 ends");
    CHECK(size == kDigestBytes, "a SHA-256 digest has 32 bytes");
    return hex(digest);
  }

 private:
  static std::string hex(const std::array<unsigned char, kDigestBytes>& digest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out(2 * kDigestBytes, '0');
    for (std::size_t i = 0; i < kDigestBytes; ++i) {
      out[2 * i] = kDigits[digest[i] >> 4];
      out[2 * i + 1] = kDigits[digest[i] & 15];
    }
    return out;
  }

  std::unique_ptr<EVP_MD, FreeDigest> digest_;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
};

Sha256& of_this_thread() {
  thread_local Sha256 sha256;
  return sha256;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) { return of_this_thread().hex_of({bytes}); }

std::string chain(std::string_view previous_hex, std::string_view payload) {
  return of_this_thread().hex_of({previous_hex, "\n", payload});
}

}  // namespace runnel::hash
