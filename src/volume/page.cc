#include "volume/page.h"

#include <algorithm>
#include <utility>

#include "base/binary.h"
#include "base/check.h"
#include "volume/bundle.h"
#include "volume/fixed.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kKeyBytesMax = 4'096;
constexpr std::size_t kValueBytesMax = 1 << 20;
constexpr std::uint64_t kPageBytesMax = 4 << 20;

Error no_page(const char* why) {
  return Error(Errc::kCorrupt, std::string("a page of the index ") + why);
}

}  // namespace

std::string encode_ref(const PageRef& ref) {
  std::string out(ref.bundle.view());
  Encoder encoder(out);
  encoder.natural(ref.offset).natural(ref.stored).natural(ref.length);
  out.append(ref.sha256.data(), ref.sha256.size());
  append_u64le(out, ref.xxh3);
  return out;
}

Result<PageRef> decode_ref(std::string_view bytes) {
  FixedReader fixed(bytes);
  PageRef ref;
  fixed.take(ref.bundle.bytes);
  Decoder decoder(fixed.rest());
  ref.offset = decoder.natural();
  ref.stored = decoder.natural();
  ref.length = decoder.natural();
  constexpr std::size_t kTail = hash::kDigestBytes + 8;
  if (fixed.failed() || decoder.failed() || bytes.size() < ObjectId::kBytes + kTail) {
    return no_page("has a reference that is cut");
  }
  FixedReader tail(bytes.substr(bytes.size() - kTail));
  tail.take(ref.sha256);
  ref.xxh3 = tail.u64le();
  // A bundle ends with the page that fills it.
  const bool is_in_bundle = ref.offset <= kBundleBytesMax;
  const bool is_sound =
      is_in_bundle && ref.stored > 0 && ref.stored <= ref.length && ref.length <= kPageBytesMax;
  if (!is_sound || encode_ref(ref) != bytes) return no_page("has a reference that is none");
  return ref;
}

Result<Page> Page::decode(std::string_view bytes) {
  Decoder decoder(bytes);
  Page page;
  page.height_ = decoder.byte();
  const std::size_t count = decoder.count(kEntriesMax);
  if (decoder.failed() || page.height_ > kHeightMax) return no_page("has no head");
  page.entries_.reserve(count);
  page.text_.reserve(bytes.size());
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint64_t shared = decoder.natural();
    const std::string_view rest = decoder.text(kKeyBytesMax);
    const std::string_view value = decoder.text(kValueBytesMax);
    const std::size_t before = page.entries_.empty() ? 0 : page.entries_.back().key_size;
    if (decoder.failed() || shared > before) return no_page("is cut");
    Entry entry;
    entry.key_begin = page.text_.size();
    if (shared > 0) {
      page.text_.append(std::string(page.key(index - 1).substr(0, shared)));
    }
    page.text_.append(rest);
    entry.key_size = page.text_.size() - entry.key_begin;
    entry.value_begin = page.text_.size();
    page.text_.append(value);
    entry.value_size = value.size();
    page.entries_.push_back(entry);
    if (index > 0 && page.key(index) <= page.key(index - 1)) return no_page("is not sorted");
  }
  if (!decoder.complete()) return no_page("has bytes behind its end");
  if (page.entries_.empty()) return no_page("is empty");
  return page;
}

std::string_view Page::key(std::size_t index) const {
  const Entry& entry = entries_.at(index);
  return std::string_view(text_).substr(entry.key_begin, entry.key_size);
}

std::string_view Page::value(std::size_t index) const {
  const Entry& entry = entries_.at(index);
  return std::string_view(text_).substr(entry.value_begin, entry.value_size);
}

std::size_t Page::lower_bound(std::string_view wanted) const {
  std::size_t low = 0;
  std::size_t high = entries_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (key(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::size_t Page::child_of(std::string_view wanted) const {
  CHECK(!is_leaf(), "a leaf has no children");
  const std::size_t at = lower_bound(wanted);
  const bool is_first = at < size() && key(at) == wanted;
  return is_first || at == 0 ? at : at - 1;
}

std::size_t Page::memory() const {
  return sizeof(Page) + text_.capacity() + entries_.capacity() * sizeof(Entry);
}

void PageBuilder::add(std::string_view key, std::string_view value) {
  CHECK(count_ == 0 || key > last_key_, "entries of a page come in order");
  CHECK(key.size() <= kKeyBytesMax && value.size() <= kValueBytesMax, "an entry is too large");
  const auto differs = std::mismatch(key.begin(), key.end(), last_key_.begin(), last_key_.end());
  const auto shared = static_cast<std::size_t>(differs.first - key.begin());
  Encoder(entries_).natural(shared).text(key.substr(shared)).text(value);
  if (count_++ == 0) first_key_ = key;
  last_key_ = key;
}

std::string PageBuilder::finish() {
  CHECK(count_ > 0, "a page without entries");
  std::string page;
  page.reserve(entries_.size() + 8);
  Encoder(page).byte(height_).natural(count_);
  page += entries_;
  *this = PageBuilder(height_);
  return page;
}

}  // namespace runnel::volume
