#include "hash/xxh3.h"

#include <xxhash.h>

namespace runnel::hash {

std::uint64_t xxh3(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace runnel::hash
