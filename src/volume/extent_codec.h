#pragma once

#include <string>

#include "base/binary.h"
#include "volume/extent.h"

namespace runnel::volume {

// One extent within a record. The decoder fails for what is none.
void encode_extent(std::string& out, const Extent& extent);
Extent decode_extent(Decoder& decoder);

}  // namespace runnel::volume
