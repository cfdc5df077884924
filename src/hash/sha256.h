#pragma once

#include <string>
#include <string_view>

namespace runnel::hash {

// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// One link of a hash chain: sha256(previous_hex + "\n" + payload). The first link has previous "".
std::string chain(std::string_view previous_hex, std::string_view payload);

}  // namespace runnel::hash
