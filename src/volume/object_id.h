#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace runnel::volume {

// Which pack or bundle of pages: the first 8 bytes of the SHA-256 of its bytes, and 8 random ones,
// since a name never comes back. All zero: the object that holds the reference, or, of an extent,
// a hole.
struct ObjectId {
  static constexpr std::size_t kBytes = 16;

  std::array<char, kBytes> bytes{};

  static ObjectId of(std::string_view object, std::string_view nonce);  // `nonce`: 8 bytes.
  // kInvalid for what is not of the form of str().
  static Result<ObjectId> parse(std::string_view text);
  bool is_zero() const { return *this == ObjectId(); }
  std::string_view hash() const { return {bytes.data(), kBytes / 2}; }  // Its first half.
  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  // "<16 digits>-<16 digits>", as it stands in keys.
  std::string str() const;
  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
};

std::string pack_key(const ObjectId& id);    // "p/..."
std::string bundle_key(const ObjectId& id);  // "i/..."
// Whether a key below a volume's prefix is one that volumes give their objects: of `kind`, "p/",
// "i/", "v/" or "g/". What else lies there is somebody's, and what else a head or a list of garbage
// names was not written by any build.
bool is_object_key(std::string_view key, std::string_view kind);
bool is_object_key(std::string_view key);  // Of any of these.

}  // namespace runnel::volume
