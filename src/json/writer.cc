#include "json/writer.h"

#include <charconv>
#include <cstring>

#include "base/check.h"

namespace runnel::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kHexDigits = "0123456789abcdef";

// The escape that a byte below 0x80 needs: 0 none, 'u' a \u00xx escape, else the letter after a
// backslash.
constexpr std::array<char, 128> make_escapes() {
  std::array<char, 128> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}

constexpr std::array<char, 128> kEscapes = make_escapes();

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;

constexpr std::uint64_t bytes_below(std::uint64_t word, std::uint64_t limit) {
  return (word - kOnes * limit) & ~word & kHighs;
}

constexpr std::uint64_t bytes_equal(std::uint64_t word, unsigned char byte) {
  return bytes_below(word ^ (kOnes * byte), 1);
}

// Whether all eight bytes are ASCII that needs no escape.
bool is_plain(std::uint64_t word) {
  const std::uint64_t special =
      bytes_below(word, 0x20) | bytes_equal(word, '"') | bytes_equal(word, '\\') | (word & kHighs);
  return special == 0;
}

// How many bytes from `at` on can be copied as they are. Most text is plain; eight bytes at a time.
std::size_t plain_run(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if (!is_plain(word)) break;
  }
  for (; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x80 || kEscapes[c] != 0) break;
  }
  return at - begin;
}

bool is_continuation(std::string_view text, std::size_t at, unsigned char low, unsigned char high) {
  if (at >= text.size()) return false;
  const auto c = static_cast<unsigned char>(text[at]);
  return c >= low && c <= high;
}

// The length of the UTF-8 sequence at `at` (Unicode, table 3-7); 0 when there is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (!is_continuation(text, at + 1, low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!is_continuation(text, at + i, 0x80, 0xBF)) return 0;
  }
  return length;
}

void append_escape(std::string& out, unsigned char c) {
  out += '\\';
  out += kEscapes[c];
  if (kEscapes[c] != 'u') return;
  out += "00";
  out += kHexDigits[c >> 4];
  out += kHexDigits[c & 15];
}

// Appends the non-plain character at `at` and returns how many bytes of `text` it took.
std::size_t append_special(std::string& out, std::string_view text, std::size_t at) {
  const auto c = static_cast<unsigned char>(text[at]);
  if (c < 0x80) {
    append_escape(out, c);
    return 1;
  }
  const std::size_t length = utf8_length(text, at);
  out += length > 0 ? text.substr(at, length) : kReplacement;
  return length > 0 ? length : 1;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t run = plain_run(text, at);
    out.append(text, at, run);
    at += run;
    if (at < text.size()) at += append_special(out, text, at);
  }
  out += '"';
}

}  // namespace

void Writer::separate() {
  if (need_comma_) out_ += ',';
  need_comma_ = true;
}

void Writer::open(bool is_object, char bracket) {
  CHECK(depth_ < kDepthMax, "our documents nest at most 64 levels");
  separate();
  out_ += bracket;
  need_comma_ = false;
  levels_[depth_++] = Level{.is_object = is_object, .key_begin = 0, .key_size = 0};
}

void Writer::close(bool is_object, char bracket) {
  CHECK(depth_ > 0, "each end has its begin");
  CHECK(levels_[depth_ - 1].is_object == is_object, "lists and objects end as what they began");
  --depth_;
  out_ += bracket;
  need_comma_ = true;
}

Writer& Writer::begin_object() {
  open(true, '{');
  return *this;
}

Writer& Writer::end_object() {
  close(true, '}');
  return *this;
}

Writer& Writer::begin_list() {
  open(false, '[');
  return *this;
}

Writer& Writer::end_list() {
  close(false, ']');
  return *this;
}

// Compares keys as they stand in the text. Escapes sort differently, so such keys are left out.
void Writer::check_order(Level& level, std::size_t key_begin) const {
  const std::string_view text = out_;
  const std::string_view previous = text.substr(level.key_begin, level.key_size);
  const std::string_view key = text.substr(key_begin);
  const bool ascending = previous.substr(0, previous.size() - 1) < key.substr(0, key.size() - 1);
  if (level.key_size > 0 && !ascending) {
    CHECK(key.find('\\') != key.npos || previous.find('\\') != key.npos,
          "the keys of an object are written in ascending order");
  }
  level.key_begin = key_begin;
  level.key_size = key.size();
}

Writer& Writer::key(std::string_view name) {
  CHECK(depth_ > 0, "a key stands inside an object");
  Level& level = levels_[depth_ - 1];
  CHECK(level.is_object, "a list has no keys");
  separate();
  const std::size_t begin = out_.size();
  append_quoted(out_, name);
  check_order(level, begin);
  out_ += ':';
  need_comma_ = false;
  return *this;
}

Writer& Writer::integer(std::int64_t value) {
  separate();
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(error == std::errc(), "24 characters hold every 64-bit integer");
  out_.append(digits.data(), end);
  return *this;
}

Writer& Writer::text(std::string_view value) {
  separate();
  append_quoted(out_, value);
  return *this;
}

Writer& Writer::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

Writer& Writer::null() {
  separate();
  out_ += "null";
  return *this;
}

Writer& Writer::raw(std::string_view canonical_json) {
  separate();
  out_ += canonical_json;
  return *this;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace runnel::json
