#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hash/sha256.h"
#include "volume/manifest.h"
#include "volume/node.h"

namespace runnel::volume {

// What a dump of a version says of itself at its beginning and its end.
// docs/design/volume_format.md.

inline constexpr std::int64_t kDumpFormat = 1;
inline constexpr std::string_view kDumpBegin = "runnel-dump.json";  // The first entry of the tar,
inline constexpr std::string_view kDumpTree = "tree";            // the folder that has the version,
inline constexpr std::string_view kDumpEnd = "runnel-end.json";  // and the last entry.
inline constexpr std::size_t kDumpTextMax = 64 << 10;            // Of the first and the last entry.

struct DumpHeader {
  std::string volume;
  std::string version;
  std::string message;
  hash::Digest tree{};
  Totals totals;
};
std::string encode_dump_header(const DumpHeader& header);
// kUnsupported for a later format, kCorrupt for what is no header.
Result<DumpHeader> decode_dump_header(std::string_view text);

// SHA-256 over all entries in their order: times are in it, too, which no tree's hash has.
//
// Threads: none of its own.
class DumpDigest {
 public:
  // Of a file with its size and hash.
  void add(const std::vector<std::string>& path, const Node& node);
  std::string end();  // The text of the last entry.

 private:
  hash::Sha256 hash_;
  std::int64_t entries_ = 0;
};

}  // namespace runnel::volume
