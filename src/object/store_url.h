#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace runnel::object {

// The place of a volume: "file:///data/volumes" or "s3://bucket/some/prefix".
struct StoreUrl {
  enum class Scheme : std::uint8_t { kFile, kS3 };

  Scheme scheme = Scheme::kFile;
  std::string path;    // kFile: absolute, without '/' at its end.
  std::string bucket;  // kS3.
  std::string prefix;  // kS3: without '/' at either end; may be empty.

  std::string to_string() const;
  friend bool operator==(const StoreUrl&, const StoreUrl&) = default;
};

// kInvalid for what is no such URL, kUnsupported for other schemes by name.
Result<StoreUrl> parse_store_url(std::string_view text);

}  // namespace runnel::object
