#include "env/random.h"

#include <sys/random.h>

#include <string_view>

#include "base/check.h"

namespace runnel::env {
namespace {

class RealRandom final : public Random {
 public:
  std::uint64_t next() override {
    std::uint64_t value = 0;
    // Never short and never interrupted for 8 bytes once the pool is ready, which boot waits for.
    const ssize_t got = getrandom(&value, sizeof value, 0);
    CHECK(got == static_cast<ssize_t>(sizeof value), "the kernel gives 8 random bytes");
    return value;
  }
};

}  // namespace

Random& real_random() {
  static RealRandom random;
  return random;
}

std::string random_hex(Random& random, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::size_t kDigitsMax = 1024;
  CHECK(digits <= kDigitsMax, "ids and tokens are short");
  std::string text(digits, '0');
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (i % 16 == 0) word = random.next();
    text[i] = kDigits[word & 15];
    word >>= 4;
  }
  return text;
}

}  // namespace runnel::env
