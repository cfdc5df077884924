#include "agent/device_kind.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii_case.h"

namespace runnel::agent {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_alphanumeric(char letter) { return (letter >= 'a' && letter <= 'z') || is_digit(letter); }

char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

// Letters and digits of a name, in small letters, word by word.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char letter : name) {
    if (is_alphanumeric(to_lower(letter))) {
      words.back() += to_lower(letter);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

bool is_maker(const std::string& word) {
  constexpr std::array<std::string_view, 4> kMakers = {"nvidia", "tesla", "quadro", "geforce"};
  return std::find(kMakers.begin(), kMakers.end(), word) != kMakers.end();
}

// "80gb", "sxm4", "hbm3", "pcie": no more of the model's name follows.
bool ends_model(const std::string& word) {
  constexpr std::array<std::string_view, 8> kAfter = {"sxm",    "hbm", "pcie", "nvl",
                                                      "laptop", "gpu", "with", "generation"};
  if (is_digit(word.front()) && word.ends_with("gb")) return true;
  return std::any_of(kAfter.begin(), kAfter.end(),
                     [&](std::string_view after) { return word.starts_with(after); });
}

}  // namespace

bool is_of_kind(std::string_view name, std::string_view kind) {
  const std::string wanted = joined(words_of(kind));
  const std::vector<std::string> words = words_of(name);
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::string text;
    for (std::size_t last = first; last < words.size() && text.size() < wanted.size(); ++last) {
      text += words[last];
      if (text == wanted) return true;
    }
  }
  return false;
}

std::string kind_of(std::string_view name) {
  std::string kind;
  for (const std::string& word : words_of(name)) {
    if (word.empty() || (kind.empty() && is_maker(word))) continue;
    if (ends_model(word)) break;
    for (const char letter : word) kind += upper(letter);
  }
  return kind;
}

}  // namespace runnel::agent
