#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace runnel::spec {

struct YamlNode;
using YamlNodePtr = std::shared_ptr<const YamlNode>;  // Shared, since aliases share what they name.

struct YamlMember {
  YamlNodePtr key;  // Always a scalar; null is the text "".
  YamlNodePtr value;
};

// A value of a YAML document, with its place.
//
// Contract: scalars keep their text as written (`12:00:00`, `on` and `010` are text; only an
//           unquoted empty value, `~` and `null` are null). Keys of a mapping are distinct and in
//           file order. No text holds a NUL. Acyclic and at most kYamlDepthMax deep.
// Threads:  immutable once built.
// Why:      own values instead of yaml-cpp's: its header stays in one file, aliases stay bounded,
//           and the flags of a command line can be checked by the same code as a file.
struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  bool quoted = false;  // A scalar in quotes or a block: never null, never a number by accident.
  std::string text;     // A scalar's text.
  std::vector<YamlNodePtr> items;
  std::vector<YamlMember> members;
  std::size_t offset = 0;  // Byte of the source where it begins.
  std::string flag;  // "--memory" when it came from a command line; then `offset` says nothing.
  std::size_t expanded = 1;    // Nodes below and including this one, aliases counted each time ...
  std::size_t text_bytes = 0;  // ... and the bytes of their texts.
  int height = 1;              // Levels below and including this one.

  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_null() const { return kind == Kind::kNull; }
  // The value of `key`, or null.
  const YamlNode* find(std::string_view key) const;
};

// "text", "a list", "a mapping", "nothing": for messages.
std::string_view kind_name(const YamlNode& node);

inline constexpr std::size_t kYamlBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kYamlNodesMax = 250'000;               // After aliases are followed.
inline constexpr std::size_t kYamlTextMax = std::size_t{16} << 20;  // Likewise.
inline constexpr int kYamlDepthMax = 64;

// The text after a byte order mark, if there is one. Offsets and positions count from there.
std::string_view without_byte_order_mark(std::string_view text);

// Reads one YAML 1.2 (core) document. Errors are kInvalid or kUnsupported with line and column of
// `file`: not UTF-8, tabs as indentation, duplicate keys, tags, several documents, any of the
// maxima. An empty file is a null. Never throws.
Result<YamlNodePtr> read_yaml(std::string_view text, const std::string& file);

// The place of a byte: lines and columns from 1, columns in characters, not bytes.
SourcePosition position_at(std::string_view text, std::size_t offset, const std::string& file);

}  // namespace runnel::spec
