#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace runnel {
namespace {

constexpr std::size_t kWordMax = 128;  // Longer words are not typing errors.

}  // namespace

// Three rows suffice where each place is edited at most once.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = kWordMax;
  if (word.size() > kWordMax) return {};
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > kWordMax) continue;
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t allowed = std::max<std::size_t>(1, longer / 3);
    const std::size_t found = edit_distance(word, candidate);
    if (found > allowed || found >= longer || found >= best_distance) continue;
    best = candidate;
    best_distance = found;
  }
  return std::string(best);
}

}  // namespace runnel
