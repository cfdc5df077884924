#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace runnel::library {

// A version of a volume, as any process finds it.
struct Reference {
  std::string store;     // Its URL.
  std::string volume;    // The name.
  std::string version;   // The id; empty: of a volume without versions.
  std::string manifest;  // Its key below the volume; empty: not known yet.

  friend bool operator==(const Reference&, const Reference&) = default;
};

std::string encode_reference(const Reference& reference);
// kInvalid for what is none.
Result<Reference> decode_reference(std::string_view text);

}  // namespace runnel::library
