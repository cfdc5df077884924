#include "runner/text_block.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace runnel::runner {

bool has_zero(std::string_view text) { return text.find('\0') != std::string_view::npos; }

TextBlock TextBlock::of_bytes(std::string bytes) {
  CHECK(valid(bytes), "a block of texts lacks its last zero byte");
  TextBlock block;
  block.bytes_ = std::move(bytes);
  return block;
}

void TextBlock::push_back(std::string_view text) {
  CHECK(!has_zero(text), "a text of a block holds a zero byte");
  bytes_.append(text).push_back('\0');
}

void TextBlock::push_back(std::string_view name, std::string_view value) {
  CHECK(!has_zero(name), "a name of a block holds a zero byte");
  CHECK(!has_zero(value), "a value of a block holds a zero byte");
  bytes_.append(name).push_back('=');
  bytes_.append(value).push_back('\0');
}

std::vector<std::string_view> TextBlock::texts() const {
  std::vector<std::string_view> texts;
  for (std::size_t at = 0; at < bytes_.size(); at += texts.back().size() + 1) {
    texts.emplace_back(bytes_.c_str() + at);
  }
  return texts;
}

void TextBlock::append_pointers(std::vector<char*>& pointers) const {
  for (std::size_t at = 0; at < bytes_.size(); at = bytes_.find('\0', at) + 1) {
    pointers.push_back(const_cast<char*>(bytes_.c_str() + at));
  }
}

std::string_view TextBlock::value_of(std::string_view name) const {
  for (std::size_t at = 0; at < bytes_.size(); at = bytes_.find('\0', at) + 1) {
    const std::string_view text = bytes_.c_str() + at;
    if (text.size() <= name.size() || text[name.size()] != '=') continue;
    if (text.starts_with(name)) return text.substr(name.size() + 1);
  }
  return {};
}

}  // namespace runnel::runner
