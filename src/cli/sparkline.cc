#include "cli/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace runnel::cli {
namespace {

constexpr std::array<std::string_view, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string text;
  const std::size_t shown = std::min(values.size(), width);
  for (std::size_t i = 0; i < shown; ++i) {
    // The last of each share, so that the end is the end.
    const double value = values[(i + 1) * values.size() / shown - 1];
    if (!std::isfinite(value)) {
      text += "x";
      continue;
    }
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    text += kHeights[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)];
  }
  return text;
}

}  // namespace runnel::cli
