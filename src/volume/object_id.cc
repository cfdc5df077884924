#include "volume/object_id.h"

#include <algorithm>

#include "base/check.h"
#include "hash/sha256.h"
#include "volume/digits.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kHalf = ObjectId::kBytes / 2;

std::optional<int> digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

}  // namespace

ObjectId ObjectId::of(std::string_view object, std::string_view nonce) {
  CHECK(nonce.size() == kHalf, "a nonce has 8 bytes");
  const hash::Digest digest = hash::sha256(object);
  ObjectId id;
  std::copy_n(digest.begin(), kHalf, id.bytes.begin());
  std::copy_n(nonce.begin(), kHalf, id.bytes.begin() + kHalf);
  return id;
}

std::string ObjectId::str() const {
  return hash::hex(view().substr(0, kHalf)) + "-" + hash::hex(view().substr(kHalf));
}

Result<ObjectId> ObjectId::parse(std::string_view text) {
  const Error bad =
      Error(Errc::kInvalid, "the id of an object is 16 hexadecimal digits, '-', and 16 more")
          .with_value(std::string(text));
  constexpr std::size_t kDigits = 2 * kHalf;
  if (text.size() != 2 * kDigits + 1 || text[kDigits] != '-') return bad;
  ObjectId id;
  for (std::size_t i = 0; i < ObjectId::kBytes; ++i) {
    const std::size_t at = 2 * i + (i < kHalf ? 0 : 1);
    const std::optional<int> high = digit_of(text[at]);
    const std::optional<int> low = digit_of(text[at + 1]);
    if (!high || !low) return bad;
    id.bytes[i] = static_cast<char>(*high * 16 + *low);
  }
  return id;
}

std::string pack_key(const ObjectId& id) { return "p/" + id.str(); }
std::string bundle_key(const ObjectId& id) { return "i/" + id.str(); }

bool is_object_key(std::string_view key, std::string_view kind) {
  if (!key.starts_with(kind)) return false;
  const std::string_view name = key.substr(kind.size());
  return kind == "g/" ? number_of(name).ok() : ObjectId::parse(name).ok();
}

bool is_object_key(std::string_view key) {
  constexpr std::array<std::string_view, 4> kKinds{"p/", "i/", "v/", "g/"};
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [key](std::string_view kind) { return is_object_key(key, kind); });
}

}  // namespace runnel::volume
