#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::runner {

// Such a text ends early for the kernel.
bool has_zero(std::string_view text);

// Texts for the kernel, one after another in one piece of memory, each with its zero byte: an
// environment, as execve() wants it.
//
// Contract: a text holds no zero byte; push_back() CHECKs it, valid() asks it of bytes from
// outside. Why:      seventy small strings per attempt are built, sent, held and freed; one block
// is not.
class TextBlock {
 public:
  TextBlock() = default;
  TextBlock(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) push_back(text);
  }
  // The bytes of a block, checked with valid().
  static TextBlock of_bytes(std::string bytes);
  static bool valid(std::string_view bytes) { return bytes.empty() || bytes.back() == '\0'; }

  void push_back(std::string_view text);
  // "name=value"
  void push_back(std::string_view name, std::string_view value);

  bool empty() const { return bytes_.empty(); }
  const std::string& bytes() const { return bytes_; }
  std::vector<std::string_view> texts() const;
  // Appends where each text begins. They are valid while the block is not changed.
  void append_pointers(std::vector<char*>& pointers) const;
  // The value of "name=value"; "" when there is none.
  std::string_view value_of(std::string_view name) const;

  friend bool operator==(const TextBlock&, const TextBlock&) = default;

 private:
  std::string bytes_;
};

}  // namespace runnel::runner
