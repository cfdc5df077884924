#pragma once

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
Result<std::uint64_t> number_of(std::string_view digits);
Result<hash::Digest> digest_of(std::string_view digits);

// The error of a document whose `format` is a later one; none of one that can be read.
std::optional<Error> later_format(const json::Value& document);

}  // namespace runnel::volume
