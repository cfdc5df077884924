#pragma once

#include <cstdint>
#include <string_view>

namespace runnel::hash {

// XXH3-64 with a seed: for checks and tables, never for names or secrets.
std::uint64_t xxh3(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace runnel::hash
