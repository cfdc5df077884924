#include "hash/sha256.h"

#include <initializer_list>
#include <utility>

#include <openssl/evp.h>

#include "base/check.h"

namespace runnel::hash {
namespace {

struct FreeDigest {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
};

// Looking up the algorithm costs more than hashing a short text, so it is done once per thread.
const EVP_MD* algorithm() {
  thread_local std::unique_ptr<EVP_MD, FreeDigest> digest(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  CHECK(digest != nullptr, "OpenSSL has SHA-256");
  return digest.get();
}

}  // namespace

// A digest that is under way.
class DigestContext {
 public:
  DigestContext() : context_(EVP_MD_CTX_new()) {
    CHECK(context_ != nullptr, "OpenSSL allocates a digest context");
  }

  void begin() {
    CHECK(EVP_DigestInit_ex2(context_.get(), algorithm(), nullptr) == 1, "SHA-256 starts");
  }
  void add(std::string_view bytes) {
    CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "SHA-256 goes on");
  }
  Digest finish() {
    std::array<unsigned char, kDigestBytes> bytes;
    unsigned int size = 0;
    CHECK(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1, "SHA-256 ends");
    CHECK(size == kDigestBytes, "a SHA-256 digest has 32 bytes");
    Digest digest;
    for (std::size_t i = 0; i < kDigestBytes; ++i) digest[i] = static_cast<char>(bytes[i]);
    return digest;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

namespace {

// A thread's own, for texts that are there as a whole.
Digest digest_of(std::initializer_list<std::string_view> parts) {
  thread_local DigestContext context;
  context.begin();
  for (const std::string_view part : parts) context.add(part);
  return context.finish();
}

}  // namespace

Sha256::Sha256() : context_(std::make_unique<DigestContext>()) { context_->begin(); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::add(std::string_view bytes) {
  context_->add(bytes);
  return *this;
}

Digest Sha256::finish() { return context_->finish(); }

Digest sha256(std::string_view bytes) { return digest_of({bytes}); }

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(2 * bytes.size(), '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out[2 * i] = kDigits[byte >> 4];
    out[2 * i + 1] = kDigits[byte & 15];
  }
  return out;
}

std::string sha256_hex(std::string_view bytes) { return hex(digest_of({bytes})); }

std::string chain(std::string_view previous_hex, std::string_view payload) {
  return hex(digest_of({previous_hex, "\n", payload}));
}

}  // namespace runnel::hash
