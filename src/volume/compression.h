#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace runnel::volume {

// One zstd frame of the bytes; none where it would not be shorter by a tenth.
std::optional<std::string> compressed(std::string_view bytes);

// Fills `into` with what the frame holds, which must be exactly as much. kCorrupt otherwise.
Result<void> decompress(std::string_view frame, std::span<char> into);

}  // namespace runnel::volume
