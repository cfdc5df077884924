#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hash/sha256.h"
#include "json/value.h"

namespace runnel::volume {

// Hashes in documents are hexadecimal digits. kCorrupt for what is none.
std::string digits_of(std::uint64_t number);  // 16 of them.
// Whether a text is so many of them, lower-case.
bool is_digits(std::string_view text, std::size_t count);
Result<std::uint64_t> number_of(std::string_view digits);
Result<hash::Digest> digest_of(std::string_view digits);

// The error of a document whose `format` is a later one; none of one that can be read.
std::optional<Error> later_format(const json::Value& document);

}  // namespace runnel::volume
