#include "brain/metric_names.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/ascii_case.h"
#include "base/nearest.h"

namespace runnel::brain {
namespace {

constexpr std::size_t kLettersMax = 2;
constexpr std::size_t kLongLeast = 5;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// "test/top-1_accuracy" has four.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char letter : to_lower(name)) {
    if (std::string_view("/_.- ").find(letter) == std::string_view::npos) {
      words.back() += letter;
    } else {
      words.emplace_back();
    }
  }
  return words;
}

std::string without_digits(std::string word) {
  std::erase_if(word, is_digit);
  return word;
}

// "loss" of "los" and "loos".
std::string without_doubles(std::string word) {
  word.erase(std::unique(word.begin(), word.end()), word.end());
  return word;
}

bool are_swapped(const std::string& word, const std::string& meant) {
  return edit_distance(word, meant) == 1 &&
         std::is_permutation(word.begin(), word.end(), meant.begin(), meant.end());
}

// One letter makes another metric of a short name: mae, mse and rmse, auc and acc, fpr and tpr.
bool is_misspelt_word(const std::string& word, const std::string& meant) {
  if (without_digits(word) == without_digits(meant)) return false;
  if (std::min(word.size(), meant.size()) < kLongLeast) {
    return without_doubles(word) == without_doubles(meant) || are_swapped(word, meant);
  }
  const std::string_view candidate(word);
  return edit_distance(word, meant) <= kLettersMax && !nearest(meant, {&candidate, 1}).empty();
}

}  // namespace

bool looks_misspelt(std::string_view name, std::string_view metric) {
  if (name == metric) return false;
  const std::vector<std::string> words = words_of(name);
  const std::vector<std::string> meant = words_of(metric);
  if (words.size() != meant.size()) return false;
  int others = 0;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at] == meant[at]) continue;
    if (++others > 1 || !is_misspelt_word(words[at], meant[at])) return false;
  }
  return true;
}

}  // namespace runnel::brain
