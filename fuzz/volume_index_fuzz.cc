// Arbitrary bytes as a page of a volume's index, and as what pages hold. Whatever is read is sound
// in itself, is found where it stands, and is written as something that is read as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "volume/node.h"
#include "volume/page.h"

namespace {

using namespace runnel;
using namespace runnel::volume;

template <typename T>
void check_round_trip(const Result<T>& value, Result<T> (*decode)(std::string_view),
                      std::string (*encode)(const T&)) {
  if (!value.ok()) return;
  const Result<T> back = decode(encode(*value));
  CHECK(back.ok(), "what was written is refused");
  CHECK(*back == *value, "a value changed by being written and read");
}

void check_value(std::string_view key, std::string_view value) {
  check_round_trip(decode_ref(value), decode_ref, encode_ref);
  check_round_trip(decode_node(value), decode_node, encode_node);
  check_round_trip(decode_extents(value), decode_extents, encode_extents);
  check_round_trip(decode_name(value), decode_name, encode_name);
  (void)inode_of(key);
  (void)extents_of(key, value);
}

void check_page(const Page& page) {
  PageBuilder builder(page.height());
  for (std::size_t i = 0; i < page.size(); ++i) {
    CHECK(i == 0 || page.key(i - 1) < page.key(i), "keys do not ascend");
    CHECK(page.lower_bound(page.key(i)) == i, "a key is not found");
    CHECK(page.is_leaf() || page.child_of(page.key(i)) == i, "a child is not found");
    check_value(page.key(i), page.value(i));
    builder.add(page.key(i), page.value(i));
  }
  if (page.size() == 0) return;
  const Result<Page> back = Page::decode(builder.finish());
  CHECK(back.ok(), "a page that was written is refused");
  CHECK(back->size() == page.size(), "a page lost entries by being written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_value(bytes.substr(0, 16), bytes);
  if (const Result<Page> page = Page::decode(bytes); page.ok()) check_page(*page);
  return 0;
}
