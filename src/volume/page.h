#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hash/sha256.h"
#include "volume/object_id.h"

namespace runnel::volume {

// Where a page of the index is, and what it must be.
struct PageRef {
  ObjectId bundle;  // Zero: the bundle of the page that holds this reference.
  std::uint64_t offset = 0;
  std::uint64_t stored = 0;  // Bytes there; as many as `length` when it is not compressed.
  std::uint64_t length = 0;  // Bytes of the page.
  hash::Digest sha256{};
  std::uint64_t xxh3 = 0;
  friend bool operator==(const PageRef&, const PageRef&) = default;
};

std::string encode_ref(const PageRef& ref);
// kCorrupt for what is no reference.
Result<PageRef> decode_ref(std::string_view bytes);

// A page of a tree: sorted keys with their values; of a branch the values are references.
// docs/design/volume_format.md.
//
// Threads: a value type.
class Page {
 public:
  static constexpr std::uint8_t kHeightMax = 16;
  static constexpr std::size_t kEntriesMax = 1 << 20;

  // kCorrupt for what is no page, or whose keys do not ascend.
  static Result<Page> decode(std::string_view bytes);

  std::uint8_t height() const { return height_; }
  bool is_leaf() const { return height_ == 0; }
  std::size_t size() const { return entries_.size(); }
  std::string_view key(std::size_t index) const;
  std::string_view value(std::size_t index) const;
  // The first entry whose key is not less; size() when there is none.
  std::size_t lower_bound(std::string_view key) const;
  // Of a branch: the entry below which the key belongs; the first one for a key before all.
  std::size_t child_of(std::string_view key) const;
  std::size_t memory() const;  // Bytes that it takes.

 private:
  struct Entry {
    std::size_t key_begin = 0;
    std::size_t key_size = 0;
    std::size_t value_begin = 0;
    std::size_t value_size = 0;
  };

  std::uint8_t height_ = 0;
  std::string text_;  // All keys and values.
  std::vector<Entry> entries_;
};

// Makes a page of entries that come in order.
class PageBuilder {
 public:
  explicit PageBuilder(std::uint8_t height) : height_(height) {}

  void add(std::string_view key, std::string_view value);
  std::size_t bytes() const { return entries_.size(); }  // So far.
  std::size_t count() const { return count_; }
  const std::string& first_key() const { return first_key_; }
  // The page; the builder is empty again.
  std::string finish();

 private:
  std::uint8_t height_;
  std::size_t count_ = 0;
  std::string entries_;
  std::string first_key_;
  std::string last_key_;
};

}  // namespace runnel::volume
